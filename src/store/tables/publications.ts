// Distributions, what they offer, and what was published.
import type { ColumnType, Generated } from 'kysely'
import type { Distribution, FormatId } from '../../domain/package.ts'
import type { StatusEvent } from '../../domain/transitions.ts'
import type { Json } from './columns.ts'
import type { PackagesTable } from './packages.ts'

export interface DistributionsTable {
  codename: string
  format: FormatId
  /** raised by every change of what is offered */
  revision: Generated<number>
  /** what clients see */
  published_revision: Generated<number>
  /** directory of the live generation, below `.generations/<format>/<codename>/` */
  generation: string | null
  /** seconds since 1970; strictly increases, clients ignore an older one */
  release_date: Generated<number>
  published_at: Date | null
  /** which packages were offered before this revision is no longer known */
  history_floor: Generated<number>
  /** finished background indexes (deb Contents, rpm updateinfo) */
  background_indexes: ColumnType<BackgroundIndexRow[], string | undefined, string>
  /** who removes files from the tree at present, and since when; null when nobody does */
  cleaning_token: string | null
  cleaning_since: Date | null
  /** raised by each of these claims: a publish that began before one is not made visible */
  cleanings: Generated<number>
  initialized_at: Date | null
  /** as it was declared last */
  definition: Json<Distribution>
  published_count: Generated<number>
  pending_count: Generated<number>
  quarantined_count: Generated<number>
  rejected_count: Generated<number>
  size_bytes: Generated<number>
}

export interface BackgroundIndexRow {
  path: string
  sizeBytes: number
  sha256: string
  /** of the uncompressed text */
  plain: { sizeBytes: number; sha256: string }
  /** of the distribution when it was made */
  revision: number
  /** generation of the advisories it was made from, where it was made from any */
  advisoryGeneration?: number
}

/** The rendered index entry of an offer, one row for each stream of its format. It ends and is deleted with it, by triggers. */
export interface OfferEntriesTable {
  package_id: number
  stream: string
  bytes: Uint8Array
  /** as in its offer */
  until_revision: Generated<number | null>
}

/** The same of a package whose entries are long: none of them is in `offer_entries` then. */
export interface OfferEntryPiecesTable extends OfferEntriesTable {
  /** from 0 */
  piece: number
}

/**
 * A file was offered to clients from one revision of a distribution until another. So what is offered, or was at an earlier
 * revision, is a query. Rows are deleted when no kept publication names them.
 */
export interface OffersTable {
  distribution: string
  /** may be of a record that was deleted since */
  package_id: number
  /** the revision that first offered it: its place in the index */
  from_revision: number
  /** the first revision without it; null while it is offered */
  until_revision: number | null
  sha256: string
  filename: string
  name: string
  version: string
  arch: string
  began_by: OfferCause
  ended_by: OfferCause | null
  ended_at: Date | null
  /** when its file may leave the tree; null while it must not, and when it has */
  unlink_at: Date | null
  /**
   * whether the bytes stay for the publications that named it; not for a record that was quarantined or rejected since, or
   * that never was in a publication
   */
  keeps_bytes: Generated<boolean>
}

/** How a record came in, or what happened to it since. */
export type OfferCause = PackagesTable['import_method'] | StatusEvent | 'restore'

/** What clients saw, and from when. Rows are only added, and deleted when they are older than the history that is kept. */
export interface PublicationsTable {
  distribution: string
  generation: string
  revision: number
  /** of its Release, in seconds since 1970 */
  release_date: number
  published_at: Date
  /** why packages entered and left since the publication before; without any, why it was published nevertheless */
  causes: string[]
}

/** A generation that clients may still be reading: it was live until then. */
export interface SupersededGenerationsTable {
  distribution: string
  generation: string
  superseded_at: Date
}

/** A key of a source that signed packages which were taken in: clients get it with ours. */
export interface PackageKeysTable {
  fingerprint: string
  armored: string
  added_at: Date
}
