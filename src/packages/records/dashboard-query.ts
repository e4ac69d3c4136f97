// Reads for the dashboard: counters, and the first rows of an index. None of them reads all packages.
import { sql, type RawBuilder } from 'kysely'
import type { SeverityCounts } from '../../domain/finding.ts'
import { DECISION_ACTIONS, type DecisionAction, type PackageStatus } from '../../domain/status.ts'
import type { Db } from '../../store/db.ts'
import type { DecisionRow, PackageRow } from '../../store/tables.ts'
import { severitySummary } from './review-query.ts'

export interface DashboardCounts {
  records: number
  scanned: number
  blocked: number
  depsMissing: number
  sizeBytes: number
  findings: SeverityCounts
  decisions: number
  activeDecisions: Record<DecisionAction, number>
}

/** All counts, from tables with some rows for each distribution. */
export async function dashboardCounts(db: Db): Promise<DashboardCounts> {
  const { rows } = await sql<{ records: number; scanned: number; blocked: number }>`
    select coalesce(sum(n), 0)::int as records, coalesce(sum(n) filter (where scanned), 0)::int as scanned,
      coalesce(sum(n) filter (where status = 'quarantined' and cve_status = 'blocked'), 0)::int as blocked
    from package_counts`.execute(db)
  const size = await db
    .selectFrom('distributions')
    .select(sql<number>`coalesce(sum(size_bytes), 0)::float8`.as('bytes'))
    .executeTakeFirstOrThrow()
  const counted = await db
    .selectFrom('dashboard_counts')
    .select(['counted', sql<number>`sum(n)::int`.as('n')])
    .groupBy('counted')
    .execute()
  const of = (what: string) => counted.find((row) => row.counted === what)?.n ?? 0
  return {
    ...(rows[0] ?? { records: 0, scanned: 0, blocked: 0 }),
    depsMissing: of('deps_missing'),
    sizeBytes: size.bytes,
    findings: await severitySummary(db, {}),
    decisions: of('decisions'),
    activeDecisions: Object.fromEntries(DECISION_ACTIONS.map((action) => [action, of(`active ${action}`)])) as Record<
      DecisionAction,
      number
    >,
  }
}

export type NamedRow = Pick<PackageRow, 'id' | 'distribution' | 'name' | 'version' | 'arch' | 'status'>

/** A record that somebody should look at. */
export type AlertRow = NamedRow &
  Pick<PackageRow, 'severities' | 'held_reason' | 'review_due_at'> & { missing: string[] }

/** The first records in the order of an index; each condition is the predicate or a leading part of that index. */
async function first(
  db: Db,
  where: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
  most: number,
): Promise<AlertRow[]> {
  const { rows } = await sql<AlertRow>`
    select id, distribution, name, version, arch, status, severities, held_reason, review_due_at,
      jsonb_path_query_array(deps_missing, '$[0 to 4]') as missing
    from packages where ${where} order by ${order} limit ${most}`.execute(db)
  return rows
}

/** Records that miss dependencies, the newest first. */
export const missingFirst = (db: Db, most: number) =>
  first(db, sql`deps_missing <> '[]'::jsonb and status in ('published', 'pending_review')`, sql`id desc`, most)

/** Held records of a status, the worst first. */
export const worstFirst = (db: Db, status: Exclude<PackageStatus, 'published'>, most: number) =>
  first(db, sql`status <> 'published' and status = ${status}`, sql`risk desc, id desc`, most)

/** Reviews that are due in this span, the most urgent first. */
export function dueFirst(db: Db, span: { after: Date | null; upTo: Date }, most: number): Promise<AlertRow[]> {
  const after = span.after === null ? sql`true` : sql`review_due_at > ${span.after}`
  return first(
    db,
    sql`status = 'pending_review' and review_due_at <= ${span.upTo} and ${after}`,
    sql`review_due_at, risk desc, id`,
    most,
  )
}

/** More deadlines than this are not counted. */
const MOST_COUNTED = 10_000

/** Number of overdue reviews, and of exceptions that end until `soon`. */
export async function countDeadlines(db: Db, now: Date, soon: Date): Promise<{ overdue: number; ending: number }> {
  const { rows } = await sql<{ overdue: number; ending: number }>`select
    (select count(*)::int from (select from packages
      where status = 'pending_review' and review_due_at <= ${now} limit ${MOST_COUNTED}) late) as overdue,
    (select count(*)::int from (select from decisions
      where active and expires_at is not null and expires_at > ${now} and expires_at <= ${soon}
      limit ${MOST_COUNTED}) ending) as ending`.execute(db)
  return rows[0] ?? { overdue: 0, ending: 0 }
}

/** Exceptions that end in this span, the first to end first. */
export async function exceptionsEnding(
  db: Db,
  span: { after: Date; upTo: Date },
  most: number,
): Promise<(Pick<DecisionRow, 'id' | 'package' | 'version' | 'distribution' | 'arch'> & { expires_at: Date })[]> {
  const rows = await db
    .selectFrom('decisions')
    .select(['id', 'package', 'version', 'distribution', 'arch', 'expires_at'])
    .where('active', '=', true)
    .where('expires_at', 'is not', null)
    .where('expires_at', '>', span.after)
    .where('expires_at', '<=', span.upTo)
    .orderBy('expires_at')
    .limit(most)
    .execute()
  return rows.map((row) => ({ ...row, expires_at: row.expires_at as Date }))
}

/** The records that arrived last. */
export async function newestRecords(
  db: Db,
  most: number,
): Promise<(NamedRow & Pick<PackageRow, 'format' | 'imported_at' | 'imported_by'>)[]> {
  return db
    .selectFrom('packages')
    .select(['id', 'distribution', 'name', 'version', 'arch', 'status', 'format', 'imported_at', 'imported_by'])
    .orderBy('id', 'desc')
    .limit(most)
    .execute()
}
