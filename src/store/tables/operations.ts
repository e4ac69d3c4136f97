// The tables of the dashboard, the drift scan, backups and webhooks.
import type { Generated } from 'kysely'
import type { DriftArea, DriftFault } from '../../domain/drift.ts'
import type { SeverityCounts } from '../../domain/finding.ts'
import type { JsonOrNull, OrNull } from './columns.ts'

/** Counts that the dashboard shows; triggers maintain them. */
export interface DashboardCountsTable {
  distribution: string
  /** `deps_missing`, `decisions`, or `active <action>` of decisions in force */
  counted: string
  n: number
}

/** Events of a day (UTC), counted from the audit chain. */
export interface ActivityDaysTable {
  day: string
  imports: number
  failures: number
  decisions: number
  cve_scans: number
}

/** The content of the repository at the end of a day (UTC). */
export interface PoolDaysTable {
  day: string
  packages: number
  bytes: number
  /** of all records, by severity; null on days of builds before migration 0032 */
  findings: JsonOrNull<SeverityCounts>
}

/** One row: the last counted entry of the audit chain. */
export interface ActivityCursorTable {
  id: number
  seq: number
}

/** Webhook deliveries of the last day: each is accepted once. */
export interface WebhookDeliveriesTable {
  id: string
  received_at: Date
}

/** Answers to requests with an `Idempotency-Key`: of those that were answered in the last day, and of those that run. */
export interface KeptAnswersTable {
  /** digest of who asked and of the key */
  id: string
  principal: string
  /** the run of the request */
  holder: string
  /** when it was answered; while it runs, when its process last said so */
  touched_at: Date
  /** says that the answer has the digest of the request; null while it runs */
  request: OrNull<string>
  /** sealed, with the digest; null while it runs */
  answer: OrNull<string>
}

/** A file that differs from what was stored. */
export interface DriftTable {
  /** path below `REPOS_DIR` */
  subject: string
  area: DriftArea
  fault: DriftFault
  distribution: string | null
  sha256: string | null
  package_id: number | null
  detail: string
  since: Date
  last_seen: Date
  /** whether an alert was recorded */
  reported: Generated<boolean>
  resolved_at: OrNull<Date>
  /** how the difference ended */
  resolution: OrNull<'repaired' | 'gone'>
}

/** A backup that reads the pool. */
export interface RemovalHoldsTable {
  id: string
  until: Date
}
