// One OSV record, read into an advisory and the packages it affects. Pure.
// https://ossf.github.io/osv-schema/
import { createHash } from 'node:crypto'
import type { Advisory, AffectedPackage, RangeEvent, VersionRange } from '../../../domain/advisory.ts'
import { orderName, packageKey } from './ecosystems.ts'
import {
  isObject,
  objectsAt,
  requireObjects,
  requireStrings,
  stringAt,
  timeAt,
  type Json,
} from '../../../domain/json.ts'
import { orderOf, type FormatOrder } from './orders.ts'
import { covering } from './ranges.ts'
import { rate, saysWontFix } from './severity.ts'
import { foldBuilds, streamOf } from './rpm-builds.ts'

export interface ReadRecord {
  advisory: Advisory
  /** empty for a withdrawn advisory, and for one about ecosystems that are not wanted */
  affected: AffectedPackage[]
  /** over all that is stored except dates: if it is equal, nothing has to be matched again */
  digest: string
}

export interface ReadOptions {
  compare: FormatOrder
  /** ecosystems to keep */
  wanted: (ecosystem: string) => boolean
}

/** @throws Error with a sentence when it is no OSV record, or a malformed one: nothing of it is taken then */
export function readRecord(json: unknown, options: ReadOptions): ReadRecord {
  if (!isObject(json)) throw new Error('not a JSON object')
  const id = stringAt(json, 'id')
  const modified = timeAt(json, 'modified')
  if (id === null || id.length > 200) throw new Error('no id')
  if (modified === null) throw new Error('no time of modification')
  const withdrawn = timeAt(json, 'withdrawn')
  const rating = rate(json)
  const cves = cvesOf(json, id)
  const advisory: Advisory = {
    id,
    modified,
    withdrawn,
    ...rating,
    summary: stringAt(json, 'summary')?.slice(0, 500) ?? firstLine(stringAt(json, 'details')),
    cves,
    aliases: aliasesOf(json, id, cves),
    urls: urlsOf(json),
    notes: notesOf(stringAt(json, 'details') ?? '', new Set(cves)),
    security: cves.length > 0 || !isBugFixNotice(id),
  }
  const affected = withdrawn === null ? affectedOf(json, advisory, options) : []
  const { modified: _date, ...lasting } = advisory
  const digest = createHash('sha256')
    .update(JSON.stringify([lasting, affected]))
    .digest('hex')
    .slice(0, 32)
  return { advisory, affected, digest }
}

const isCve = (id: string) => /^CVE-\d{4}-\d{4,}$/.test(id)
const unique = (items: readonly string[]) => [...new Set(items)].sort()

/**
 * The CVEs a record is about. `related` may name others that are merely similar, so it counts only where no other field
 * names one, as with AlmaLinux.
 */
function cvesOf(json: Json, id: string): string[] {
  // `DEBIAN-CVE-2024-1234` and its like carry the number in their own id.
  const own = isCve(id) ? id : /^(?:DEBIAN|UBUNTU|ALPINE)-(CVE-\d{4}-\d{4,})$/.exec(id)?.[1]
  const named = [...(own ? [own] : []), ...requireStrings(json, 'aliases'), ...requireStrings(json, 'upstream')].filter(
    isCve,
  )
  return unique(named.length > 0 ? named : requireStrings(json, 'related').filter(isCve))
}

/** Other names of the same vulnerability. `upstream` counts only without CVEs: in notices it names each vulnerability. */
function aliasesOf(json: Json, id: string, cves: readonly string[]): string[] {
  const names = [...requireStrings(json, 'aliases'), ...(cves.length === 0 ? requireStrings(json, 'upstream') : [])]
  return unique(names).filter((name) => name !== id && !isCve(name))
}

/** Bug-fix and enhancement errata of Red Hat's family, recommended, feature and optional updates of SUSE's. */
const isBugFixNotice = (id: string) => /^(?:(?:AL|RH|RL)(?:BA|EA)|(?:open)?SUSE-(?:RU|FU|OU))-/.test(id)

function firstLine(details: string | null): string | null {
  const line = details?.split('\n').find((text) => text.trim() !== '')
  return line === undefined ? null : line.trim().slice(0, 300)
}

/** Up to three links, the advisory's own first. */
function urlsOf(json: Json): string[] {
  const links = objectsAt(json, 'references').flatMap((reference) => {
    const url = stringAt(reference, 'url')
    return url !== null && /^https?:\/\//.test(url) && url.length <= 500
      ? [{ url, advisory: reference['type'] === 'ADVISORY' }]
      : []
  })
  return [
    ...new Set([...links.filter((l) => l.advisory), ...links.filter((l) => !l.advisory)].map((l) => l.url)),
  ].slice(0, 3)
}

/** Lists in `details` end each item with its CVEs: `* kernel: a bug (CVE-2024-1, CVE-2024-2)`. */
function notesOf(details: string, cves: ReadonlySet<string>): Record<string, string> {
  const notes: Record<string, string> = {}
  for (const line of details.split('\n')) {
    const item = /^\s*[*-]\s+(\S.{0,400}?)\s*\(((?:CVE-\d{4}-\d+(?:[,\s]+(?:and\s+)?)?)+)\)\s*$/.exec(line)
    for (const cve of item?.[2]?.match(/CVE-\d{4}-\d+/g) ?? []) if (cves.has(cve)) notes[cve] ??= item![1]!
  }
  return notes
}

/** Keys with which an entry may have a rating different from the record's. */
const SAYS_OWN = ['severity', 'ecosystem_specific', 'database_specific']

function affectedOf(json: Json, advisory: Advisory, options: ReadOptions): AffectedPackage[] {
  const entries = requireObjects(json, 'affected').flatMap((entry) => {
    const named = packageOf(entry)
    if (!named) return []
    const { ecosystem, name } = named
    if (orderName(ecosystem) === null || !options.wanted(ecosystem)) return []
    const ranges = rangesOf(entry)
    const versions = uncovered(requireStrings(entry, 'versions'), ranges, ecosystem, options.compare)
    if (ranges.length === 0 && versions.length === 0) return []
    const own = SAYS_OWN.some((key) => key in entry) ? rate(json, entry) : advisory
    const differs = own.severity !== advisory.severity || own.cvss !== advisory.cvss
    return [
      {
        ecosystem,
        package: packageKey(ecosystem, name),
        ranges,
        versions,
        severity: differs ? own.severity : null,
        cvss: differs ? own.cvss : null,
        wontFix: saysWontFix(entry),
        stream: orderName(ecosystem) === 'rpm' ? streamOf(ranges, advisory.summary) : null,
      },
    ]
  })
  return sorted(foldBuilds(entries, options.compare))
}

/** Null for an entry about a Git repository, which names no package. @throws Error when the package is malformed */
function packageOf(entry: Json): { ecosystem: string; name: string } | null {
  const named = entry['package'] ?? null
  if (named === null) return null
  const [ecosystem, name] = isObject(named) ? [named['ecosystem'], named['name']] : []
  if (typeof ecosystem !== 'string' || typeof name !== 'string' || ecosystem === '' || name === '')
    throw new Error('an affected package has no ecosystem or no name')
  if (name.length > 500) throw new Error('an affected package has a name of more than 500 characters')
  return { ecosystem, name }
}

/** Records list the same packages in another order from day to day. */
function sorted(entries: readonly AffectedPackage[]): AffectedPackage[] {
  return entries
    .map((entry) => ({ entry, key: JSON.stringify([entry.ecosystem, entry.package, entry.ranges, entry.versions]) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ entry }) => entry)
}

const EVENTS = ['introduced', 'fixed', 'last_affected', 'limit'] as const

/** @throws Error when ranges or events are malformed: an advisory that is read in part would pass affected versions */
function rangesOf(entry: Json): VersionRange[] {
  return requireObjects(entry, 'ranges').flatMap((range) => {
    const type = range['type']
    // Ranges of Git commits need the repository's history.
    if (type === 'GIT') return []
    if (type !== 'ECOSYSTEM' && type !== 'SEMVER') throw new Error('a range has an unknown type')
    const events = requireObjects(range, 'events').flatMap((event) =>
      EVENTS.flatMap((key): RangeEvent[] => {
        const version = event[key] ?? null
        if (version === null) return []
        if (typeof version !== 'string' || version === '') throw new Error(`${key} of a range is not a version`)
        return [{ [key]: version }]
      }),
    )
    if (events.length === 0) throw new Error('a range has no events')
    return [{ type, events }]
  })
}

/** Version lists mostly repeat the ranges, with up to hundreds of versions a package; only the other versions are kept. */
function uncovered(
  versions: readonly string[],
  ranges: readonly VersionRange[],
  ecosystem: string,
  compare: FormatOrder,
): string[] {
  const order = orderOf(ecosystem, compare)
  if (!order || versions.length === 0) return unique(versions)
  const covered = covering(ranges, order)
  return unique(versions.filter((version) => !covered(version)))
}
