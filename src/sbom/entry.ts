// One record of the repository with its identifiers in documents. Pure.
import { createHash } from 'node:crypto'
import type { Distribution } from '../domain/package.ts'
import type { Offered } from '../formats/format.ts'
import type { InventoryRow } from '../store/records/inventory-query.ts'
import { embeddedPurlOf, purlOf, type EmbeddedComponent } from './purl.ts'

export interface EmbeddedEntry extends EmbeddedComponent {
  purl: string
  ref: string
  spdxId: string
}

export interface SbomEntry {
  row: InventoryRow
  distribution: Distribution
  purl: string
  /** unique in a document and the same in every document; package URLs of two records may be equal */
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

export function entryOf(row: InventoryRow, offered: Offered, embedded: readonly EmbeddedComponent[] = []): SbomEntry {
  const ref = refOf(row)
  return {
    row,
    distribution: offered.distribution,
    purl: purlOf(row, offered),
    ref,
    spdxId: spdxIdOf(row.name, ref),
    embedded: embeddedEntries(ref, embedded),
  }
}

/** Sorted and without duplicates: a package may contain the same component several times. */
function embeddedEntries(owner: string, components: readonly EmbeddedComponent[]): EmbeddedEntry[] {
  const entries = components.map((component) => {
    const purl = embeddedPurlOf(component)
    const ref = `${owner}#${purl}${component.path ? `#${component.path}` : ''}`
    return { ...component, purl, ref, spdxId: spdxIdOf(component.name, ref) }
  })
  return [...new Map(entries.map((entry) => [entry.ref, entry])).values()].sort((a, b) => (a.ref < b.ref ? -1 : 1))
}

/** The newest of several times. It dates a document, so that the same content gives the same document. */
export function latest(...times: (Date | null | undefined)[]): Date | null {
  return times.reduce<Date | null>((newest, time) => (time && (!newest || time > newest) ? time : newest), null)
}
