// One advisory: the records here that have it, and the decisions about it.
import { sql } from 'kysely'
import type { Finding, Severity } from '../../domain/finding.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { FormatId } from '../../domain/package.ts'
import type { Db } from '../../store/db.ts'
import type { DecisionRow } from '../../store/tables.ts'
import { MOST_SIBLINGS } from './fixed-here.ts'
import { offset, type At } from './review-query.ts'

/** Most CVEs that one advisory stands for here. */
const MOST_STOOD_FOR = 100
/** Most findings of an advisory that are counted. */
const MOST_COUNTED = 10_000
const MOST_DECISIONS = 50

/** The ids that its findings have here: of a DSA those of its CVEs, which are findings of their own. */
export async function idsOf(db: Db, id: string): Promise<string[]> {
  const { rows } = await sql<{ cve: string }>`
    (select cve from findings where cve = ${id} limit 1)
    union (select cve from finding_names where name = ${id.toUpperCase()}) order by cve limit ${MOST_STOOD_FOR}`.execute(
    db,
  )
  return rows.map(({ cve }) => cve)
}

export interface AffectedRow {
  package_id: number
  cve: string
  finding: Finding
  first_seen: Date
  name: string
  version: string
  arch: string
  distribution: string
  format: FormatId
  status: PackageStatus
  served: boolean
}

export interface AffectedTotals {
  /** findings; at most 10,000 are counted */
  total: number
  served: number
  fixed: number
  decided: number
  epss: number | null
  in_kev: boolean
}

/** One page of the records that have one of these, those that clients are offered first. */
export async function affectedPage(
  db: Db,
  cves: readonly string[],
  at: At,
): Promise<AffectedTotals & { rows: AffectedRow[] }> {
  const { rows } = await sql<AffectedTotals>`
    with found as materialized (
      select package_id, cve, risk, fix_state, in_kev, epss, finding->'accepted_by_decision' = 'true' as decided,
        exists (select from offers o where o.package_id = f.package_id and o.until_revision is null) as served
      from findings f where cve = any(${[...cves]}::text[]) order by risk desc, cve, package_id limit ${MOST_COUNTED})
    select count(*)::int as total, (count(*) filter (where served))::int as served,
      (count(*) filter (where fix_state = 'fixed'))::int as fixed, (count(*) filter (where decided))::int as decided,
      max(epss) as epss, coalesce(bool_or(in_kev), false) as in_kev from found`.execute(db)
  const page = await sql<AffectedRow>`
    select f.package_id, f.cve, f.finding, f.first_seen, p.name, p.version, p.arch, p.distribution, p.format, p.status, f.served
    from (select package_id, cve, risk, finding, first_seen,
        exists (select from offers o where o.package_id = findings.package_id and o.until_revision is null) as served
      from findings where cve = any(${[...cves]}::text[])
      order by served desc, risk desc, cve, package_id limit ${at.perPage} offset ${offset(at)}) f
    join packages p on p.id = f.package_id order by f.served desc, f.risk desc, f.cve, f.package_id`.execute(db)
  const [totals] = rows as [AffectedTotals]
  return { ...totals, rows: page.rows }
}

/** The finding that describes it best: the worst. */
export async function worstFinding(
  db: Db,
  cves: readonly string[],
): Promise<{ finding: Finding; severity: Severity } | null> {
  const row = await db
    .selectFrom('findings')
    .select(['finding', 'severity'])
    .where('cve', 'in', cves)
    .orderBy('risk', 'desc')
    .orderBy('package_id')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

/** For each record the published versions beside it, in its place, that do not have the finding; of very many the last that arrived. */
export async function soundBeside(
  db: Db,
  rows: readonly Pick<AffectedRow, 'package_id' | 'cve'>[],
): Promise<string[][]> {
  if (rows.length === 0) return []
  const [ids, cves] = [rows.map((row) => row.package_id), rows.map(({ cve }) => cve)]
  const found = await sql<{ versions: string[] }>`
    with wanted as (
      select n, wanted.cve, distribution, name, arch
      from unnest(${ids}::bigint[], ${cves}::text[]) with ordinality as wanted (id, cve, n) left join packages p on p.id = wanted.id),
    beside as materialized (
      select place.*, other.id, other.version from (select distinct distribution, name, arch from wanted) place cross join lateral (
        select p.id, p.version from packages p
        where p.distribution = place.distribution and p.name = place.name and p.arch = place.arch
          and p.status = 'published' and p.last_scan is not null order by p.id desc limit ${MOST_SIBLINGS}) other)
    select coalesce(array_agg(beside.version) filter (where beside.id is not null), '{}') as versions
    from wanted left join beside on beside.distribution = wanted.distribution and beside.name = wanted.name and beside.arch = wanted.arch
      and not exists (select from findings f where f.package_id = beside.id and f.cve = wanted.cve)
    group by n order by n`.execute(db)
  return found.rows.map(({ versions }) => versions)
}

/** The last decisions that name one of these, in force or not. */
export async function decisionsAbout(db: Db, cves: readonly string[]): Promise<DecisionRow[]> {
  const { rows } = await sql<DecisionRow>`
    select * from decisions where jsonb_path_query_array(covers, '$[*].id') ?| ${[...cves]}::text[]
    order by id desc limit ${MOST_DECISIONS}`.execute(db)
  return rows
}
