// Reading the audit log: filtered pages for people, everything in the order of the chain for export.
import { sql } from 'kysely'
import { DAY_MS } from '../domain/durations.ts'
import type { Db } from '../store/db.ts'
import { entryOf, type AuditEntry, type EntryRow } from './chain.ts'

export interface AuditFilter {
  package?: string | undefined
  action?: string | undefined
  result?: string | undefined
  user?: string | undefined
  version?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** substring of package, user or detail, ignoring case */
  q?: string | undefined
}

function filtered(db: Db, filter: AuditFilter) {
  let query = db.selectFrom('audit')
  if (filter.package !== undefined) query = query.where('package', '=', filter.package)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action.toUpperCase())
  if (filter.result !== undefined) query = query.where('result', '=', filter.result.toUpperCase() as 'SUCCESS')
  if (filter.user !== undefined) query = query.where('username', '=', filter.user)
  if (filter.version !== undefined) query = query.where('version', '=', filter.version)
  if (filter.from !== undefined) query = query.where('at', '>=', filter.from)
  if (filter.to !== undefined) query = query.where('at', '<=', filter.to)
  if (filter.q !== undefined) {
    const part = filter.q.toLowerCase()
    query = query.where(sql<boolean>`position(${part} in lower(concat_ws(' ', package, username, detail))) > 0`)
  }
  return query
}

/** One page, newest first. */
export async function auditPage(
  db: Db,
  filter: AuditFilter,
  at: { page: number; perPage: number },
): Promise<{ items: AuditEntry[]; total: number }> {
  if (filter.q !== undefined) return searchedPage(db, filter, at)
  const query = filtered(db, filter)
  const total = Object.values(filter).some((value) => value !== undefined)
    ? (await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()).total
    : await countEntries(db)
  const rows = await query
    .selectAll()
    .orderBy('id', 'desc')
    .limit(at.perPage)
    .offset((at.page - 1) * at.perPage)
    .execute()
  return { items: rows.map(entryOf), total }
}

/** No index helps to find a text, so every row is read: once, for both the number and the page. */
async function searchedPage(db: Db, filter: AuditFilter, { page, perPage }: { page: number; perPage: number }) {
  const { rows } = await sql<{ total: number; ids: number[] }>`
    with found as materialized (${filtered(db, filter).select('id')}),
      shown as (select id from found order by id desc limit ${perPage} offset ${(page - 1) * perPage})
    select (select count(*)::int from found) as total,
      coalesce((select json_agg(id) from shown), '[]'::json) as ids`.execute(db)
  const [{ total, ids } = { total: 0, ids: [] }] = rows
  if (ids.length === 0) return { items: [], total }
  const items = await db.selectFrom('audit').selectAll().where('id', 'in', ids).orderBy('id', 'desc').execute()
  return { items: items.map(entryOf), total }
}

/** The number of entries. Places in the chain have no gaps and are removed only at its beginning, so its ends give the number. */
async function countEntries(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`select (
    coalesce((select max(seq) from audit) - (select min(seq) from audit) + 1, 0)
    + (select count(*) from audit where seq is null))::int as n`.execute(db)
  return rows[0]?.n ?? 0
}

/**
 * The newest entries. With `actions`, the newest entries of each action are read from the index; newer entries of other
 * actions, perhaps millions, are not read.
 */
export async function newestEntries(db: Db, actions: readonly string[] | null, most: number): Promise<AuditEntry[]> {
  const newest = db.selectFrom('audit').orderBy('id', 'desc').limit(most)
  if (actions === null) return (await newest.selectAll().execute()).map(entryOf)
  const { rows } = await sql<{ id: number }>`
    select found.id from unnest(${[...actions]}::text[]) as wanted (action)
    cross join lateral (select id from audit where action = wanted.action order by id desc limit ${most}) found
    order by found.id desc limit ${most}`.execute(db)
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  return (await newest.selectAll().where('id', 'in', ids).execute()).map(entryOf)
}

/** The last entry that was written to the files; null when there is none. */
export async function filedHead(db: Db): Promise<{ seq: number; hash: string } | null> {
  const row = await db
    .selectFrom('audit')
    .select(['seq', 'hash'])
    .where('filed', '=', true)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ? { seq: row.seq as number, hash: row.hash as string } : null
}

/** What retention removed: the last removed entry, and the first day that is kept; 0 and null when nothing was removed. */
export async function removedPart(db: Db): Promise<{ seq: number; keptFrom: string | null }> {
  const chain = await db.selectFrom('audit_chain').select(['removed_seq', 'removed_day']).executeTakeFirst()
  const day = chain?.removed_day ?? null
  const keptFrom = day === null ? null : new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10)
  return { seq: chain?.removed_seq ?? 0, keptFrom }
}

/** The first entries after one that match, in the order of the chain. */
export const entriesAfter = (db: Db, filter: AuditFilter, after: EntryRow | null, most: number): Promise<EntryRow[]> =>
  filtered(db, filter)
    .selectAll()
    .where('seq', '>', after?.seq ?? 0)
    .orderBy('seq')
    .limit(most)
    .execute()
