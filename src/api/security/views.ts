// How the answers of /security show records, findings and reviews.
import { worstOfBits } from '../../domain/risk.ts'
import { isoTimeOrNull, type Clock } from '../../kernel/clock.ts'
import { decisionOf } from '../../review/decisions.ts'
import { slaOf, slaOfRecord } from '../../review/sla.ts'
import { matchingRecords, type RecordSelector } from '../../store/records/artifact-query.ts'
import { activeDecisions } from '../../packages/records/decisions.ts'
import type { DecisionRow, PackageRow } from '../../store/tables.ts'
import type { Db } from '../../store/db.ts'
import {
  assignmentsOf,
  findingTotals,
  lightRowsOf,
  rowsWithFindings,
  type Assignment,
  type FindingTotals,
  type LightRow,
} from '../../packages/records/review-query.ts'
import { headOf, type ReviewState } from '../shared/records.ts'

/**
 * Findings of one package in a list; a kernel has 3,000, which are 4 MB. `total_cve` counts all, and the answer about one
 * package lists them all.
 */
export const MOST_FINDINGS = 100

/**
 * The items, in the order of `ids`.
 * @param also further keys of an item
 */
export async function securityItems<More extends object = object>(
  deps: { db: Db; clock: Clock },
  ids: readonly number[],
  withFindings: boolean,
  also: (id: number) => More = () => ({}) as More,
) {
  const { db } = deps
  const now = deps.clock.now()
  const rows: LightRow[] = withFindings ? await rowsWithFindings(db, ids, MOST_FINDINGS) : await lightRowsOf(db, ids)
  const totals = await findingTotals(db, ids)
  const decisions = await activeDecisions(db, ids)
  const assignments = await assignmentsOf(db, ids)
  return rows.map((row) => ({
    ...itemOf(row, totals.get(row.id), decisions.get(row.id) ?? [], now),
    ...assignedTo(assignments.get(row.id)),
    ...also(row.id),
    ...(withFindings ? { cve_results: (row as PackageRow).cve_results ?? [] } : {}),
  }))
}

const assignedTo = (assignment: Assignment | undefined) => ({
  assigned_to: assignment?.assigned_to ?? null,
  assigned_at: isoTimeOrNull(assignment?.assigned_at ?? null),
})

function itemOf(row: LightRow, totals: FindingTotals | undefined, decisions: readonly DecisionRow[], now: Date) {
  return {
    ...headOf(row),
    format: row.format,
    sha256: row.sha256,
    source_package: row.source_package ?? row.name,
    source_version: row.source_version ?? row.version,
    held_reason: row.held_reason,
    origin: row.review_origin,
    reasons: row.review_reasons ?? [],
    review_since: isoTimeOrNull(row.review_since),
    scanned: row.last_scan !== null,
    last_scan: isoTimeOrNull(row.last_scan),
    cve_counts: totals?.counts ?? { critical: 0, high: 0, medium: 0, low: 0, negligible: 0, unknown: 0 },
    worst_severity: worstOfBits(row.severities),
    total_cve: totals?.total ?? 0,
    kev_count: totals?.kev ?? 0,
    high_epss_count: totals?.likely ?? 0,
    epss_max: totals?.epss ?? null,
    holding_count: totals?.holding ?? 0,
    // Files are stored under the digest that was computed while they were received.
    hash_verified: true,
    actions: totals?.actions ?? [],
    decision: decisions[0] ? decisionOf(decisions[0], now) : null,
    sla: slaOfRecord({ status: row.status, review_due_at: row.review_due_at }, decisions, now) ?? slaOf(null, now),
    quarantined_at: isoTimeOrNull(row.quarantined_at),
    quarantined_by: row.quarantined_by,
  }
}

/** @returns the active decision and the review deadline of each of these records, as its full form shows them */
export async function reviewStateOf(
  db: Db,
  rows: readonly PackageRow[],
  now: Date,
): Promise<(row: PackageRow) => ReviewState> {
  const decisions = await activeDecisions(
    db,
    rows.map((row) => row.id),
  )
  return (row) => {
    const own = decisions.get(row.id) ?? []
    return { decision: own[0] ? decisionOf(own[0], now) : null, sla: slaOfRecord(row, own, now) }
  }
}

/** The one record of a version that a call is about, without its large columns; null when there is none. */
export async function findRepresentative(db: Db, selector: RecordSelector) {
  const rows = await matchingRecords(db, selector)
    .select(['id', 'name', 'version', 'arch', 'distribution', 'sha256', 'status', 'risk'])
    .execute()
  return representative(rows)
}

/** The record shown for a version: one under review, else the one with the highest risk, else the newest. */
export function representative<R extends Pick<PackageRow, 'status' | 'risk' | 'id'>>(rows: readonly R[]): R | null {
  const weight = (row: R) => [Number(row.status === 'pending_review'), row.risk, row.id]
  return [...rows].sort((a, b) => compare(weight(b), weight(a)))[0] ?? null
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [i, value] of a.entries()) if (value !== b[i]) return value - (b[i] ?? 0)
  return 0
}
