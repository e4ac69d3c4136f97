// One record of the repository with its identifiers in documents.
import { createHash } from 'node:crypto'
import type { Distribution } from '../../domain/package.ts'
import type { Placed } from '../../formats/intake-format.ts'
import type { Pace } from '../../kernel/pacer.ts'
import type { InventoryRow } from '../records/inventory-query.ts'
import { libraryPurlOf, purlOf, type EmbeddedComponent } from './purl.ts'

export interface EmbeddedEntry extends EmbeddedComponent {
  purl: string
  ref: string
  spdxId: string
}

export interface SbomEntry {
  row: InventoryRow
  distribution: Distribution
  purl: string
  /** unique in a document, and the same in every document; two records may have equal package URLs */
  ref: string
  spdxId: string
  embedded: EmbeddedEntry[]
}

type Identity = Pick<InventoryRow, 'distribution' | 'name' | 'version' | 'arch'>

export function refOf({ distribution, name, version, arch }: Identity): string {
  return [distribution, name, version, arch].map(encodeURIComponent).join('/')
}

/** Letters, digits, `.` and `-` only (SPDX 2.3, clause 7.2). The digest makes it unique. */
export function spdxIdOf(name: string, ref: string): string {
  return `SPDXRef-Package-${name.replace(/[^A-Za-z0-9.-]+/g, '-').slice(0, 60)}-${createHash('sha256').update(ref).digest('hex').slice(0, 16)}`
}

export async function entryOf(
  row: InventoryRow,
  offered: Placed,
  embedded: readonly EmbeddedComponent[],
  pace: Pace,
): Promise<SbomEntry> {
  const ref = refOf(row)
  return {
    row,
    distribution: offered.distribution,
    purl: purlOf(row, offered),
    ref,
    spdxId: spdxIdOf(row.name, ref),
    embedded: await embeddedEntries(ref, embedded, pace),
  }
}

/** Sorted and without duplicates: a package may contain the same component several times, and 20,000 of them. */
async function embeddedEntries(
  owner: string,
  components: readonly EmbeddedComponent[],
  pace: Pace,
): Promise<EmbeddedEntry[]> {
  const entries = new Map<string, EmbeddedEntry>()
  for (const component of components) {
    await pace()
    const purl = libraryPurlOf(component)
    const ref = `${owner}#${purl}${component.path ? `#${component.path}` : ''}`
    entries.set(ref, { ...component, purl, ref, spdxId: spdxIdOf(component.name, ref) })
  }
  return [...entries.values()].sort((a, b) => (a.ref < b.ref ? -1 : 1))
}

/** The newest of several times. It dates a document, so that the same content gives the same document. */
export function latest(...times: (Date | null | undefined)[]): Date | null {
  return times.reduce<Date | null>((newest, time) => (time && (!newest || time > newest) ? time : newest), null)
}
