// The review queue in groups: packages of one source, with the same findings, or with the same fix. One page has whole groups.
import { sql, type RawBuilder } from 'kysely'
import type { Db } from '../../store/db.ts'
import { FIX_VERSION } from './fix-versions.ts'
import {
  GROUP_KEYS,
  heldBy,
  HIGHEST_EPSS,
  KNOWN_EXPLOITED,
  REVIEW_SINCE,
  type QueueFilter,
  type QueueGroup,
  type QueueSort,
} from './queue-query.ts'
import { offset, type At } from './review-query.ts'

/** Names of a group that are listed. */
const MOST_NAMES = 10

export interface QueueGroupRow {
  key: string
  packages: number
  /** packages with a finding that is known to be exploited */
  exploited: number
  /** the highest score of a finding */
  epss: number | null
  /** the severities that occur, as bits */
  severities: number
  due_at: Date | null
  /** the version that fixes all of them, in groups by fix */
  fix: string | null
  /** the first names, in their order */
  names: string[]
  /** the member that comes first in the order of the queue by risk, and its name, version, architecture and distribution */
  first_id: number
  first: string
}

/** As the orders of single records: a group is at the place of its worst, earliest or first member. */
const ORDERS: Record<QueueSort, RawBuilder<unknown>> = {
  due: sql`due_at, risk desc, first_id`,
  risk: sql`exploited > 0 desc, round(coalesce(epss, 0)::numeric, 2) desc, risk desc, due_at, first_id`,
  worst: sql`risk desc, due_at, first_id`,
  kev: sql`exploited > 0 desc, risk desc, due_at, first_id`,
  epss: sql`epss desc nulls last, risk desc, first_id`,
  since: sql`since nulls last, first_id`,
  name: sql`names[1], first_id`,
}

/** @returns `total`: how many groups the filter leaves; `matching`: how many records */
export async function queueGroups(
  db: Db,
  filter: QueueFilter,
  group: QueueGroup,
  sort: QueueSort,
  at: At,
): Promise<{ groups: QueueGroupRow[]; total: number; matching: number }> {
  const { rows } = await sql<QueueGroupRow & { total: number; matching: number }>`
    with held as materialized (
      select p.id, p.name, concat_ws(' ', p.name, p.version, p.arch, p.distribution) as record, p.severities, p.risk, p.review_due_at, ${GROUP_KEYS[group]} as key, ${KNOWN_EXPLOITED} as exploited,
        ${HIGHEST_EPSS} as epss, ${REVIEW_SINCE} as since, ${group === 'fix' ? FIX_VERSION : sql`null::text`} as fix
      from packages p where ${heldBy(filter)}
    ), grouped as (
      select key, count(*)::int as packages, (count(*) filter (where exploited))::int as exploited, max(epss) as epss,
        bit_or(severities)::int as severities, max(risk) as risk, min(review_due_at) as due_at, min(since) as since,
        array_agg(name order by name) as names, max(fix) as fix,
        (array_agg(id order by exploited desc, epss desc nulls last, risk desc, id))[1] as first_id,
        (array_agg(record order by exploited desc, epss desc nulls last, risk desc, id))[1] as first
      from held group by key
    )
    select key, packages, exploited, epss, severities, due_at, fix, names[1:${sql.lit(MOST_NAMES)}] as names, first_id, first,
      (count(*) over ())::int as total, (sum(packages) over ())::int as matching
    from grouped order by ${ORDERS[sort]} limit ${at.perPage} offset ${offset(at)}`.execute(db)
  const [first] = rows
  if (first) return { groups: rows, total: first.total, matching: first.matching }
  return { groups: [], ...(await totals(db, filter, group)) }
}

/** For a page beyond the end, which has no row that could carry them. */
async function totals(db: Db, filter: QueueFilter, group: QueueGroup) {
  const { rows } = await sql<{ total: number; matching: number }>`
    select count(distinct ${GROUP_KEYS[group]})::int as total, count(*)::int as matching
    from packages p where ${heldBy(filter)}`.execute(db)
  return rows[0] ?? { total: 0, matching: 0 }
}
