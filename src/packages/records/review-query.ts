// Reads for /security: pages in index order, totals from the counters. None of them reads all packages.
import { sql, type RawBuilder } from 'kysely'
import type { PolicyAction, Severity, SeverityCounts, SeverityKey } from '../../domain/finding.ts'
import { ACTIONS } from '../../domain/finding.ts'
import { asksForReview } from '../../domain/review-due.ts'
import { severityBit } from '../../domain/risk.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { Db } from '../../store/db.ts'
import type { PackageRow } from '../../store/tables.ts'

export interface At {
  page: number
  perPage: number
}

export interface SecurityFilter {
  statuses?: readonly PackageStatus[] | undefined
  /** has at least one finding of one of these */
  severities?: readonly Severity[] | undefined
  distribution?: string | undefined
}

/** A summary of a record's findings for lists. */
export interface FindingTotals {
  counts: SeverityCounts
  total: number
  kev: number
  /** findings with a score of 0.1 or more */
  likely: number
  /** the highest score; null without one */
  epss: number | null
  /** findings that wait for a decision */
  holding: number
  /** policy actions on the findings, strictest first */
  actions: PolicyAction[]
}

const LIGHT_COLUMNS = sql`id, distribution, format, name, version, arch, status, cve_status, held_reason, served,
  source_package, source_version, sha256, received_sha256, filename, size_bytes, imported_at, imported_by, cve_summary, last_scan, quarantined_at, quarantined_by,
  review_origin, review_since, review_due_at, overdue_noted_at, review_reasons, severities, risk`

/** A record without the columns whose size depends on its findings, dependencies or texts. */
export type LightRow = Pick<
  PackageRow,
  | 'id'
  | 'distribution'
  | 'format'
  | 'name'
  | 'version'
  | 'arch'
  | 'status'
  | 'cve_status'
  | 'held_reason'
  | 'served'
  | 'source_package'
  | 'source_version'
  | 'sha256'
  | 'received_sha256'
  | 'filename'
  | 'size_bytes'
  | 'imported_at'
  | 'imported_by'
  | 'cve_summary'
  | 'last_scan'
  | 'quarantined_at'
  | 'quarantined_by'
  | 'review_origin'
  | 'review_since'
  | 'review_due_at'
  | 'overdue_noted_at'
  | 'review_reasons'
  | 'severities'
  | 'risk'
>

export interface Assignment {
  assigned_to: string | null
  assigned_at: Date | null
}

/** Who has to look at each of these records; records that nobody was assigned are left out. */
export async function assignmentsOf(db: Db, ids: readonly number[]): Promise<Map<number, Assignment>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('reviews')
    .select(['package_id', 'assigned_to', 'assigned_at'])
    .where('package_id', 'in', ids)
    .where('assigned_to', 'is not', null)
    .execute()
  return new Map(rows.map(({ package_id: id, ...assignment }) => [id, assignment]))
}

export const all = (conditions: readonly RawBuilder<unknown>[]) =>
  conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)
export const offset = ({ page, perPage }: At) => (page - 1) * perPage
export const numberOf = ({ rows }: { rows: { n: number }[] }) => rows[0]?.n ?? 0
export const masked = (severities: readonly Severity[]) =>
  severities.reduce((mask, severity) => mask | severityBit(severity), 0)

/** Conditions on `packages` and on `package_counts` alike. */
function conditionsOf(filter: SecurityFilter): RawBuilder<unknown>[] {
  const { statuses, severities, distribution } = filter
  return [
    ...(statuses ? [sql`status in (${sql.join([...statuses])})`] : []),
    // The mask is a literal, so that the planner finds the partial index of a single bit.
    ...(severities ? [sql`severities & ${sql.lit(masked(severities))} <> 0`] : []),
    ...(distribution ? [sql`distribution = ${distribution}`] : []),
  ]
}

const LISTED = sql`(severities <> 0 or status <> 'published')`

/** Records with findings, held, quarantined or rejected: worst first. */
export async function securityPage(
  db: Db,
  filter: SecurityFilter,
  at: At,
): Promise<{ ids: number[]; total: number; summary: SeverityCounts }> {
  const where = all([LISTED, ...conditionsOf(filter)])
  const ids = await sql<{
    id: number
  }>`select id from packages where ${where} order by risk desc, id desc limit ${at.perPage} offset ${offset(at)}`.execute(
    db,
  )
  const total = await sql<{
    n: number
  }>`select coalesce(sum(n), 0)::int as n from package_counts where ${where}`.execute(db)
  return { ids: ids.rows.map((row) => row.id), total: numberOf(total), summary: await severitySummary(db, filter) }
}

/** Every record, worst first. */
export async function posturePage(
  db: Db,
  at: At,
): Promise<{ ids: number[]; total: number; scanned: number; summary: SeverityCounts }> {
  const ids = await sql<{
    id: number
  }>`select id from packages order by risk desc, id desc limit ${at.perPage} offset ${offset(at)}`.execute(db)
  return {
    ids: ids.rows.map((row) => row.id),
    total: await countPackages(db),
    scanned: await scannedPackages(db),
    summary: await severitySummary(db, {}),
  }
}

export async function countPackages(db: Db, where: RawBuilder<unknown> = sql`true`): Promise<number> {
  return numberOf(
    await sql<{ n: number }>`select coalesce(sum(n), 0)::int as n from package_counts where ${where}`.execute(db),
  )
}

/** How many records were compared with advisories. */
export const scannedPackages = (db: Db) => countPackages(db, sql`scanned`)

/** Number of findings by severity, for all records of these statuses; `severities` is ignored. */
export async function severitySummary(db: Db, { statuses, distribution }: SecurityFilter): Promise<SeverityCounts> {
  const where = all(conditionsOf({ statuses, distribution }))
  const { rows } = await sql<{
    severity: Severity
    n: number
  }>`select severity, sum(n)::int as n from finding_counts where ${where} group by severity`.execute(db)
  return countsOf(rows)
}

export function countsOf(rows: readonly { severity: Severity; n: number }[]): SeverityCounts {
  const counts: SeverityCounts = { critical: 0, high: 0, medium: 0, low: 0, negligible: 0, unknown: 0 }
  for (const { severity, n } of rows) counts[severity.toLowerCase() as SeverityKey] += n
  return counts
}

/** The records of a page, in the order of the ids. */
export async function lightRowsOf(db: Db, ids: readonly number[]): Promise<LightRow[]> {
  return inOrder(await readRows<LightRow>(db, ids, LIGHT_COLUMNS), ids)
}

/** The same with the worst findings of each. A kernel has 3,000 findings, which take 4 MB. */
export async function rowsWithFindings(
  db: Db,
  ids: readonly number[],
  most: number,
): Promise<(LightRow & Pick<PackageRow, 'cve_results'>)[]> {
  const first = sql`jsonb_path_query_array(cve_results, ${`$[0 to ${most - 1}]`}::jsonpath) as cve_results`
  return inOrder(await readRows(db, ids, sql`${LIGHT_COLUMNS}, ${first}`), ids)
}

async function readRows<T>(db: Db, ids: readonly number[], columns: RawBuilder<unknown>): Promise<T[]> {
  if (ids.length === 0) return []
  return (await sql<T>`select ${columns} from records where id = any(${[...ids]}::bigint[])`.execute(db)).rows
}

function inOrder<T extends { id: number }>(rows: readonly T[], ids: readonly number[]): T[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

export async function findingTotals(db: Db, ids: readonly number[]): Promise<Map<number, FindingTotals>> {
  const { rows } = await sql<{
    package_id: number
    severity: Severity
    action: PolicyAction
    n: number
    kev: number
    likely: number
    epss: number | null
  }>`
    select package_id, severity, action, count(*)::int as n, (count(*) filter (where in_kev))::int as kev, (count(*) filter (where epss >= 0.1))::int as likely,
      max(epss) as epss
    from findings where package_id = any(${[...ids]}::bigint[]) group by package_id, severity, action`.execute(db)
  const accepted = await acceptedTotals(db, ids)
  return new Map(
    ids.map((id) => {
      const own = rows.filter((row) => row.package_id === id)
      const sum = (key: 'n' | 'kev' | 'likely') => own.reduce((total, row) => total + row[key], 0)
      return [
        id,
        {
          counts: countsOf(own),
          total: sum('n'),
          kev: sum('kev'),
          likely: sum('likely'),
          epss: own.reduce<number | null>((most, { epss }) => (epss === null ? most : Math.max(most ?? 0, epss)), null),
          holding: own.filter(asksForReview).reduce((total, { n }) => total + n, 0) - (accepted.get(id) ?? 0),
          actions: ACTIONS.filter((action) => own.some((row) => row.action === action)),
        },
      ]
    }),
  )
}

/** How many findings that ask for a review are accepted by a decision. Few records of a queue have one, and a kernel has 3,000 findings. */
async function acceptedTotals(db: Db, ids: readonly number[]): Promise<Map<number, number>> {
  const { rows: approved } = await sql<{ id: number }>`select distinct package_id as id from decisions
    where package_id = any(${[...ids]}::bigint[]) and active and decision = 'approve'`.execute(db)
  if (approved.length === 0) return new Map()
  const { rows } = await sql<{ package_id: number; n: number }>`
    select package_id, count(*)::int as n from findings where package_id = any(${approved.map(({ id }) => id)}::bigint[])
      and action in ('block', 'review') and (finding->>'accepted_by_decision')::boolean group by package_id`.execute(db)
  return new Map(rows.map(({ package_id, n }) => [package_id, n]))
}
