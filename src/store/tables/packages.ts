// Stored files, the records of packages, and the decisions of people about them.
import type { ColumnType, Generated, Selectable } from 'kysely'
import type { CoveredFinding, ReviewReason } from '../../domain/acceptance.ts'
import type { InstallabilityResult } from '../../domain/installability.ts'
import type { FormatId, PackageFacts } from '../../domain/package.ts'
import type { CveStatus, DecisionAction, HeldReason, PackageStatus } from '../../domain/status.ts'
import type { Json, JsonOrNull, OrNull } from './columns.ts'

/** A stored file: immutable bytes in the pool, and the facts of the file. */
export interface BlobsTable extends FactColumns {
  sha256: string
  format: FormatId
  filename: string
  size_bytes: number
  sha512: string
  sha1: string
  md5: string
  /** the facts without their file list */
  facts: Json<PackageFacts>
  /** gzip of the file list, one path a line */
  files: Uint8Array
  created_at: Date
  /** when its bytes were last compared with its digest */
  verified_at: Generated<Date>
  /** the last removal of its bytes from one or both of their places (`files/placement.ts`) */
  removal_token: ColumnType<string | null, string | null | undefined, string | null>
  removal_began_at: ColumnType<Date | null, Date | null | undefined, Date | null>
  removal_ended_at: ColumnType<Date | null, Date | null | undefined, Date | null>
}

/** The facts of a file that lists show and queries filter by. */
export interface FactColumns {
  installed_size_kb: OrNull<number>
  section: OrNull<string>
  description: OrNull<string>
  maintainer: OrNull<string>
  license: OrNull<string>
  url: OrNull<string>
  source_package: OrNull<string>
  source_version: OrNull<string>
  /** its strong requirements */
  dependencies: ColumnType<{ name: string; version_constraint: string }[], string | undefined, string>
}

/**
 * Records. Each is one judged file: its place, and what the gate and later scans found about it there. Unique by place
 * (currently a distribution), name, version and architecture.
 */
export interface PackagesTable {
  id: Generated<number>
  distribution: string
  format: FormatId
  name: string
  version: string
  arch: string
  sha256: string
  received_sha256: string
  status: PackageStatus
  cve_status: CveStatus | null
  held_reason: HeldReason | null
  imported_at: Date
  imported_by: string
  import_method: 'upload' | 'import' | 'mirror' | 'proxy' | 'promotion' | 'migration'
  import_group: string | null
  source_id: number | null
  promoted_from: string | null
  pipeline: Json<Record<string, string>>
  validation_steps: Json<unknown[]>
  coverage: Json<Record<string, unknown>>
  deps_missing: Json<string[]>
  tags: Json<string[]>
  cve_summary: JsonOrNull<Record<string, unknown>>
  cve_results: JsonOrNull<unknown[]>
  last_scan: Date | null
  /** severities of its findings, one bit each (`domain/risk`) */
  severities: Generated<number>
  risk: Generated<number>
  /** null when it is not under review or the worst undecided finding has no deadline; stored here to order the queue */
  review_due_at: Date | null
  /** raised by every change of the record, its review or its decisions */
  changes: Generated<number>
  /** `changes` at the time the manifest on disk was read from the rows; 0 when there is none */
  manifest_changes: Generated<number>
}

/** The review of a record by people, open or ended. Records that nobody had to look at have no row. */
export interface ReviewsTable {
  package_id: number
  /** what requested the review: the import method, or the mechanism that held it later; null when it is not under review */
  review_origin: OrNull<string>
  review_since: OrNull<Date>
  overdue_noted_at: OrNull<Date>
  /** why a decided package is under review again */
  review_reasons: JsonOrNull<ReviewReason[]>
  quarantined_at: OrNull<Date>
  quarantined_by: OrNull<string>
  /** user name */
  assigned_to: OrNull<string>
  assigned_at: OrNull<Date>
}

/** The view through which a record is read: with the facts of its stored file, its review, and whether it is offered. */
export type RecordsView = PackagesTable &
  Pick<BlobsTable, 'filename' | 'size_bytes'> &
  FactColumns &
  Omit<ReviewsTable, 'package_id' | 'assigned_to' | 'assigned_at'> & {
    /** whether clients are offered the record */
    served: boolean
    /** the revision that offered it; null while it is not offered */
    offered_from: number | null
  }

/** Decisions of people. Rows are only added, and closed by the columns from `active` on. */
export interface DecisionsTable {
  id: Generated<number>
  /** null once the record was deleted */
  package_id: number | null
  package: string
  version: string
  arch: string
  distribution: string
  format: FormatId
  sha256: string
  decision: 'approve' | 'reject' | null
  action: DecisionAction
  /** the record's status after the decision */
  status: PackageStatus
  previous_status: PackageStatus
  justification: string
  decided_by: string
  decided_at: Date
  expires_in_days: number | null
  expires_at: Date | null
  target_version: string | null
  covers: Json<CoveredFinding[]>
  policy_snapshot: Json<Record<string, unknown>>
  active: boolean
  assigned_to: string | null
  assigned_at: Date | null
  resolved_at: Date | null
  resolved_by: string | null
  resolution_note: string | null
}

/** Who looks at a record, and when it was last heard. */
export interface OnlookersTable {
  package_id: number
  username: string
  seen_at: Date
}

/** For each decision that can still be undone: its record before it. */
export interface UndoNotesTable {
  decision_id: number
  until: Date
  before: Json<StateBefore>
}

/** The part of a record that a decision changes, times as text. */
export interface StateBefore {
  served: boolean
  cve_status: CveStatus | null
  held_reason: HeldReason | null
  review_due_at: string | null
  review_origin: PackageRow['review_origin']
  review_since: string | null
  overdue_noted_at: string | null
  review_reasons: ReviewReason[] | null
  validation_steps: unknown[]
  /** ids of the decisions that it replaced */
  replaced: number[]
}

/** What a package provides, including its own name; for the dependency check. */
export interface CapabilitiesTable {
  package_id: number
  distribution: string
  name: string
  version: string | null
  /** architecture of the package */
  arch: string
  multi_arch: string | null
}

/** A name in the requirements of a package. */
export interface DependentsTable {
  package_id: number
  distribution: string
  name: string
}

/** Files of deleted records that still have to be removed, and stored files that still have to be moved. */
export interface PendingDeletionsTable {
  id: Generated<number>
  kind: 'manifest' | 'file'
  /** manifest: path below `manifests/`; file: sha256 */
  key: string
  /** number of failed attempts */
  attempts: Generated<number>
  /** time before which it is not tried */
  due_at: Generated<Date>
}

/** One row for each (format, name): what `/artifacts/` lists. */
export interface ArtifactsTable {
  format: FormatId
  name: string
  latest_id: number
  /** lower-case text that `search` looks in */
  search: string
  latest_imported_at: Date
  distributions: string[]
  statuses: string[]
  archs: string[]
}

/** A name or name pattern that is reserved for uploads or for one source. */
export interface ReservationsTable {
  id: Generated<number>
  pattern: string
  format: string | null
  /** null: reserved for uploads */
  source_id: number | null
  created_at: Date
  created_by: string
}

/** The result of the last check of a distribution. */
export interface InstallabilityTable {
  distribution: string
  /** revision of the distribution when the check began */
  revision: number
  checked_at: Date
  result: Json<InstallabilityResult>
}

// Rows as queries return them. Other tables use `Selectable<…>` in place.
export type PackageRow = Selectable<RecordsView>

/** A stored file without the state of its removal. */
export type BlobRow = Omit<
  Selectable<BlobsTable>,
  'verified_at' | 'removal_token' | 'removal_began_at' | 'removal_ended_at'
>

export type ReservationRow = Selectable<ReservationsTable>

export type DecisionRow = Selectable<DecisionsTable>
