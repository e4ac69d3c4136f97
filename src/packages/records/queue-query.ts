// The review queue: records under review by filter and order. Every query reads records under review only.
import { sql, type RawBuilder } from 'kysely'
import { looksLikeAdvisory } from '../../domain/advisory-id.ts'
import type { Severity } from '../../domain/finding.ts'
import type { HeldReason } from '../../domain/status.ts'
import type { Db } from '../../store/db.ts'
import { containing, prefixOf, upperPrefixOf } from '../../store/records/search-text.ts'
import { all, countPackages, masked, numberOf, offset, type At } from './review-query.ts'

export interface QueueFilter {
  /** part of the name; or the beginning of an advisory's id, for records with such a finding */
  q?: string | undefined
  /** has at least one finding of one of these */
  severities?: readonly Severity[] | undefined
  distribution?: string | undefined
  reasons?: readonly HeldReason[] | undefined
  /** whether a finding is known to be exploited */
  kev?: boolean | undefined
  /** whether a finding has a fix */
  fix?: boolean | undefined
  /** a user name */
  assignedTo?: string | undefined
  /** whether nobody is assigned */
  unassigned?: boolean | undefined
  /** the members of this group */
  in?: { group: QueueGroup; key: string } | undefined
}

export const QUEUE_GROUPS = ['source', 'findings', 'fix'] as const
/** One decision often fits packages of one source, with the same findings, or that the same version of a source fixes. */
export type QueueGroup = (typeof QUEUE_GROUPS)[number]

/** Records that found the same refer to the same set (`finding_sets`); a record without evidence is a group of its own. */
const SAME_FINDINGS = sql`concat_ws(' ', p.distribution, coalesce((select md5(string_agg(e.findings, ' ' order by e.kind, e.findings))
    from evidence e where e.package_id = p.id and e.replaced_at is null and e.findings is not null), p.id::text))`

/** What the members of a group share, as text. What no version fixes completely is together with what found the same. */
export const GROUP_KEYS: Record<QueueGroup, RawBuilder<unknown>> = {
  source: sql`(select concat_ws(' ', p.distribution, coalesce(b.source_package, p.name), coalesce(b.source_version, p.version))
    from blobs b where b.sha256 = p.sha256)`,
  findings: SAME_FINDINGS,
  fix: sql`coalesce((select concat_ws(' ', p.distribution, coalesce(b.source_package, p.name), x.version)
    from fix_versions x, blobs b where x.package_id = p.id and x.changes = p.changes and x.version is not null and b.sha256 = p.sha256),
    ${SAME_FINDINGS})`,
}

export const QUEUE_SORTS = ['due', 'risk', 'worst', 'kev', 'epss', 'since', 'name'] as const
export type QueueSort = (typeof QUEUE_SORTS)[number]

export const KNOWN_EXPLOITED = sql`exists (select from findings f where f.package_id = p.id and f.in_kev)`
/** The index on (package_id, epss) answers it. */
export const HIGHEST_EPSS = sql`(select max(f.epss) from findings f where f.package_id = p.id and f.epss is not null)`
export const REVIEW_SINCE = sql`(select r.review_since from reviews r where r.package_id = p.id)`

const ASSIGNED_TO = sql`(select r.assigned_to from reviews r where r.package_id = p.id)`

/** The last columns make each order total, so that no record is on two pages. */
const ORDERS: Record<QueueSort, RawBuilder<unknown>> = {
  due: sql`p.review_due_at, p.risk desc, p.id`,
  // EPSS in whole percents: where those are equal, the severity counts.
  risk: sql`${KNOWN_EXPLOITED} desc, round(coalesce(${HIGHEST_EPSS}, 0)::numeric, 2) desc, p.risk desc, p.review_due_at, p.id`,
  worst: sql`p.risk desc, p.review_due_at, p.id`,
  kev: sql`${KNOWN_EXPLOITED} desc, p.risk desc, p.review_due_at, p.id`,
  epss: sql`${HIGHEST_EPSS} desc nulls last, p.risk desc, p.id`,
  since: sql`${REVIEW_SINCE} nulls last, p.id`,
  name: sql`p.name, p.version, p.distribution, p.id`,
}

/**
 * One page of the records under review.
 * @returns `matching`: how many match the filter; `review` and `blocked`: all under review, and all that were blocked
 */
export async function queuePage(
  db: Db,
  filter: QueueFilter,
  sort: QueueSort,
  at: At,
): Promise<{ ids: number[]; matching: number; review: number; blocked: number }> {
  const conditions = conditionsOf(filter)
  const where = heldBy(filter)
  const page = await sql<{ id: number }>`select p.id from packages p where ${where}
    order by ${ORDERS[sort]} limit ${at.perPage} offset ${offset(at)}`.execute(db)
  const { review, blocked } = await queueCounts(db)
  const matching =
    conditions.length === 0
      ? review
      : numberOf(await sql<{ n: number }>`select count(*)::int as n from packages p where ${where}`.execute(db))
  return { ids: page.rows.map((row) => row.id), matching, review, blocked }
}

/** How many records are under review, and how many were blocked, whatever a filter says. */
export async function queueCounts(db: Db): Promise<{ review: number; blocked: number }> {
  return {
    review: await countPackages(db, sql`status = 'pending_review'`),
    blocked: await countPackages(db, sql`status = 'quarantined' and cve_status = 'blocked'`),
  }
}

/** The records under review that pass the filter, as a condition on `packages p`. */
export const heldBy = (filter: QueueFilter) => all([sql`p.status = 'pending_review'`, ...conditionsOf(filter)])

function conditionsOf({
  q,
  severities,
  distribution,
  reasons,
  kev,
  fix,
  assignedTo,
  unassigned,
  in: member,
}: QueueFilter): RawBuilder<unknown>[] {
  const is = (wanted: boolean, condition: RawBuilder<unknown>) => (wanted ? condition : sql`not ${condition}`)
  const fixed = sql`exists (select from findings f where f.package_id = p.id and f.fix_state = 'fixed')`
  return [
    ...(q === undefined ? [] : [matches(q)]),
    ...(severities ? [sql`p.severities & ${sql.lit(masked(severities))} <> 0`] : []),
    ...(distribution === undefined ? [] : [sql`p.distribution = ${distribution}`]),
    ...(reasons ? [sql`p.held_reason in (${sql.join([...reasons])})`] : []),
    ...(kev === undefined ? [] : [is(kev, KNOWN_EXPLOITED)]),
    ...(fix === undefined ? [] : [is(fix, fixed)]),
    ...(assignedTo === undefined ? [] : [sql`${ASSIGNED_TO} = ${assignedTo}`]),
    ...(unassigned === undefined ? [] : [is(!unassigned, sql`(${ASSIGNED_TO} is not null)`)]),
    ...(member ? [sql`${GROUP_KEYS[member.group]} = ${member.key}`] : []),
  ]
}

function matches(q: string): RawBuilder<unknown> {
  return looksLikeAdvisory(q)
    ? sql`(exists (select from findings f where f.package_id = p.id and f.cve like ${prefixOf(q)})
        or exists (select from finding_names n where n.package_id = p.id and n.name like ${upperPrefixOf(q)}))`
    : sql`lower(p.name) like ${containing(q)}`
}
