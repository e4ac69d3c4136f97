// Distributions, what they offer, and what was published.
import type { ColumnType, Generated } from 'kysely'
import type { Distribution, FormatId } from '../../domain/package.ts'
import type { StatusEvent } from '../../domain/transitions.ts'
import type { Json } from './columns.ts'
import type { PackagesTable } from './packages.ts'

export interface DistributionsTable {
  codename: string
  format: FormatId
  /** raised by every change of the offers */
  revision: Generated<number>
  /** the revision that clients see */
  published_revision: Generated<number>
  /** directory of the live generation, below `.generations/<format>/<codename>/` */
  generation: string | null
  /** seconds since 1970; strictly increases, because clients ignore an older one */
  release_date: Generated<number>
  published_at: Date | null
  /** the offers of revisions before this one are no longer known */
  history_floor: Generated<number>
  /** finished background indexes (deb Contents, rpm updateinfo) */
  background_indexes: ColumnType<BackgroundIndexRow[], string | undefined, string>
  /** claim of the process that removes files from the tree, and its beginning; null when no process does */
  cleaning_token: string | null
  cleaning_since: Date | null
  /** raised by each such claim: a publish that began before a claim is not made visible */
  cleanings: Generated<number>
  initialized_at: Date | null
  /** the last declared definition */
  definition: Json<Distribution>
  published_count: Generated<number>
  pending_count: Generated<number>
  quarantined_count: Generated<number>
  rejected_count: Generated<number>
  size_bytes: Generated<number>
  /** only clients that sign in and have a right may read it */
  private: Generated<boolean>
}

export interface BackgroundIndexRow {
  path: string
  sizeBytes: number
  sha256: string
  /** of the uncompressed text */
  plain: { sizeBytes: number; sha256: string }
  /** revision of the distribution when it was made */
  revision: number
  /** generation of the advisories it was made from, if any */
  advisoryGeneration?: number
}

/** The rendered index entry of an offer, one row for each stream of its format. Triggers end and delete it with the offer. */
export interface OfferEntriesTable {
  package_id: number
  stream: string
  bytes: Uint8Array
  /** as in its offer */
  until_revision: Generated<number | null>
}

/** The same for a package with long entries: `offer_entries` then has none of them. */
export interface OfferEntryPiecesTable extends OfferEntriesTable {
  /** from 0 */
  piece: number
}

/**
 * A file was offered to clients from one revision of a distribution until another. So the offers of the current or an earlier
 * revision are a query. Rows are deleted when no kept publication names them.
 */
export interface OffersTable {
  distribution: string
  /** may be the id of a deleted record */
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
  /** when its file may leave the tree; null before that is allowed, and after it has left */
  unlink_at: Date | null
  /**
   * whether the bytes stay for the publications that named it; false for a record that was quarantined or rejected since, or
   * that was never in a publication
   */
  keeps_bytes: Generated<boolean>
}

/** How a record arrived, or what happened to it since. */
export type OfferCause = PackagesTable['import_method'] | StatusEvent | 'restore'

/** What clients saw, and from when. Rows are only added, and deleted when they are older than the kept history. */
export interface PublicationsTable {
  distribution: string
  generation: string
  revision: number
  /** date of its Release, in seconds since 1970 */
  release_date: number
  published_at: Date
  /** why packages entered and left since the previous publication; if none did, why it was published anyway */
  causes: string[]
}

/** A generation that was live until this time: clients may still be reading it. */
export interface SupersededGenerationsTable {
  distribution: string
  generation: string
  superseded_at: Date
}

/** A key of a source that signed imported packages: clients get it together with ours. */
export interface PackageKeysTable {
  fingerprint: string
  armored: string
  added_at: Date
}
