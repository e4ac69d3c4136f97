// The rows of findings: noted, seen again, resolved, reported once, and listed.
import { sql, type Selectable } from 'kysely'
import { DAY_MS } from '../../domain/durations.ts'
import type { Db } from '../../store/db.ts'
import type { DriftTable } from '../../store/tables.ts'
import type { Suspect } from './inspection.ts'

export type Finding = Selectable<DriftTable>

/** Resolved findings are listed for this long. */
const KEPT_DAYS = 90
const BATCH = 200

/** Notes a finding. An earlier resolved finding opens again, and is reported again. */
export async function noteFinding(db: Db, suspect: Suspect, at: Date): Promise<void> {
  const { subject: _subject, ...seen } = suspect
  const isNew = sql<boolean>`drift.resolved_at is not null`
  await db
    .insertInto('drift')
    .values({ ...suspect, since: at, last_seen: at })
    .onConflict((c) =>
      c.column('subject').doUpdateSet({
        ...seen,
        last_seen: at,
        since: sql`case when ${isNew} then ${at}::timestamptz else drift.since end`,
        reported: sql`drift.reported and not ${isNew}`,
        resolved_at: null,
        resolution: null,
      }),
    )
    .execute()
}

export async function resolveFinding(
  db: Db,
  subject: string,
  resolution: 'repaired' | 'gone',
  at: Date,
): Promise<void> {
  await db
    .updateTable('drift')
    .set({ resolved_at: at, resolution })
    .where('subject', '=', subject)
    .where('resolved_at', 'is', null)
    .execute()
}

/** Open findings in the order of their subjects, in batches. @param unseenSince only those last seen before this time */
export async function* openFindings(
  db: Db,
  { after = '', unseenSince = null }: { after?: string; unseenSince?: Date | null } = {},
): AsyncGenerator<Finding[]> {
  for (let last = after; ;) {
    const rows = await db
      .selectFrom('drift')
      .selectAll()
      .where('resolved_at', 'is', null)
      .where('subject', '>', last)
      .$if(unseenSince !== null, (query) => query.where('last_seen', '<', unseenSince))
      .orderBy('subject')
      .limit(BATCH)
      .execute()
    if (rows.length === 0) return
    yield rows
    last = rows.at(-1)!.subject
  }
}

/** Marks findings that no alert has named yet as reported. @returns their number, and some examples */
export async function takeUnreported(tx: Db, examples: number): Promise<{ total: number; first: Finding[] }> {
  const first = await tx
    .selectFrom('drift')
    .selectAll()
    .where('resolved_at', 'is', null)
    .where('reported', '=', false)
    .orderBy('subject')
    .limit(examples)
    .execute()
  const { numUpdatedRows } = await tx
    .updateTable('drift')
    .set({ reported: true })
    .where('resolved_at', 'is', null)
    .where('reported', '=', false)
    .executeTakeFirst()
  return { total: Number(numUpdatedRows), first }
}

export interface FindingCount {
  area: Finding['area']
  fault: Finding['fault']
  n: number
}

export async function countFindings(db: Db): Promise<FindingCount[]> {
  return db
    .selectFrom('drift')
    .select(['area', 'fault', sql<number>`count(*)::int`.as('n')])
    .where('resolved_at', 'is', null)
    .groupBy(['area', 'fault'])
    .orderBy('area')
    .orderBy('fault')
    .execute()
}

export async function deleteOldFindings(db: Db, now: Date): Promise<void> {
  await db
    .deleteFrom('drift')
    .where('resolved_at', '<', new Date(now.getTime() - KEPT_DAYS * DAY_MS))
    .execute()
}

export interface FindingFilter {
  state: 'open' | 'resolved'
  area?: string | undefined
  distribution?: string | undefined
}

/** A page of findings, the latest first. */
export async function findingPage(db: Db, filter: FindingFilter, at: { page: number; perPage: number }) {
  let query = db.selectFrom('drift').where('resolved_at', filter.state === 'open' ? 'is' : 'is not', null)
  if (filter.area !== undefined) query = query.where('area', '=', filter.area as Finding['area'])
  if (filter.distribution !== undefined) query = query.where('distribution', '=', filter.distribution)
  const { n } = await query.select(sql<number>`count(*)::int`.as('n')).executeTakeFirstOrThrow()
  const items = await query
    .selectAll()
    .orderBy('since', 'desc')
    .orderBy('subject')
    .limit(at.perPage)
    .offset((at.page - 1) * at.perPage)
    .execute()
  return { items, total: n }
}
