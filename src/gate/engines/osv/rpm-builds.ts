// Advisories of Red Hat's family: several builds of one fix, and module streams. Pure.
import type { AffectedPackage, VersionRange } from '../../../domain/advisory.ts'
import { orderName } from './ecosystems.ts'
import type { FormatOrder } from './orders.ts'

/**
 * One advisory often names several builds of the same upstream version as the fix of one package, because an
 * architecture or a module context was built again. Each of them has the fix, so the fix begins with the lowest.
 */
export function foldBuilds(entries: readonly AffectedPackage[], compare: FormatOrder): AffectedPackage[] {
  const kept: AffectedPackage[] = []
  const lowest = new Map<string, number>()
  for (const entry of entries) {
    const fixed = orderName(entry.ecosystem) === 'rpm' ? onlyFix(entry) : null
    if (fixed === null) {
      kept.push(entry)
      continue
    }
    const key = JSON.stringify([entry.ecosystem, entry.package, upstreamOf(fixed)])
    const at = lowest.get(key)
    if (at === undefined) lowest.set(key, kept.push(entry) - 1)
    else if (compare('rpm', fixed, onlyFix(kept[at]!)!) < 0) kept[at] = entry
  }
  return kept
}

/** The fixed version of an entry with the single range "everything before it". */
function onlyFix(entry: Pick<AffectedPackage, 'ranges' | 'versions'>): string | null {
  const [range, ...more] = entry.ranges
  if (!range || more.length > 0 || entry.versions.length > 0 || range.events.length !== 2) return null
  const [first, second] = range.events
  return first!.introduced === '0' ? (second!.fixed ?? null) : null
}

/** `1:16.6-1.module_el9` -> `16.6` */
function upstreamOf(version: string): string {
  return version.replace(/^[0-9]+:/, '').replace(/-[^-]*$/, '')
}

/** Built as part of a module: `.module_el9.5.0+127+50ff03a9`, `.module+el8.4.0+570+c2eaf144`. */
const isModular = (version: string) => /[.+]module[_+]/.test(version)

/**
 * The module stream that a fix belongs to, where the package's own version begins with the stream's name: `16` for
 * postgresql 16.6 of `postgresql:16`. Several streams of one package are supported side by side, and an update of one
 * does not apply to the others.
 */
export function streamOf(ranges: readonly VersionRange[], summary: string | null): string | null {
  const fixed = onlyFix({ ranges: [...ranges], versions: [] })
  if (fixed === null || !isModular(fixed)) return null
  const stream = /(?:^|\s)[\w.+-]*[a-z][\w.+-]*:([0-9][0-9.]*)(?=\s)/i.exec(summary ?? '')?.[1]
  return stream !== undefined && inStream(fixed, stream) ? stream : null
}

/** Whether the version is a modular build of another stream, so that an advisory for `stream` does not apply to it. */
export function isOtherStream(version: string, stream: string | null): boolean {
  return stream !== null && isModular(version) && !inStream(version, stream)
}

function inStream(version: string, stream: string): boolean {
  const upstream = upstreamOf(version)
  return upstream === stream || upstream.startsWith(`${stream}.`)
}
