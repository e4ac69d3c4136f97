// Which published packages have a newer version in a security source: found after each sync of such a source.
import { sql } from 'kysely'
import type { PackageFormat } from '../formats/format.ts'
import type { Db } from '../store/db.ts'
import type { SourceRow } from '../store/tables.ts'

/** Names that are compared at a time. */
const NAMES = 500

interface Pair {
  id: number
  name: string
  arch: string
  version: string
  path: string
  offered: string
}

/**
 * Compares what the source offers with what its distribution has. Both are read name by name, in the order of an index.
 * @returns how many packages have a newer version there
 */
export async function findSecurityUpdates(
  db: Db,
  source: Pick<SourceRow, 'id' | 'target'>,
  { versions }: PackageFormat,
  now: Date,
): Promise<number> {
  let count = 0
  for (let after = ''; ;) {
    const names = await commonNames(db, source, after)
    const last = names.at(-1)
    if (last === undefined) break
    const newer = newerOf(await pairsOf(db, source, names), versions.compare)
    count += newer.length
    await sql`insert into security_updates (source_id, package_id, path, found_at)
      select ${source.id}::bigint, id, path, ${now}::timestamptz
      from unnest(${newer.map(({ id }) => id)}::bigint[], ${newer.map(({ path }) => path)}::text[]) as u (id, path)
      where exists (select from packages p where p.id = u.id)
      on conflict (source_id, package_id) do update set path = excluded.path, found_at = excluded.found_at`.execute(db)
    after = last
  }
  await db.deleteFrom('security_updates').where('source_id', '=', source.id).where('found_at', '<', now).execute()
  return count
}

async function commonNames(db: Db, { id, target }: Pick<SourceRow, 'id' | 'target'>, after: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select distinct p.name from packages p
    where p.distribution = ${target} and p.status = 'published' and p.name > ${after}
      and exists (select from catalog c where c.name = p.name and c.source_id = ${id})
    order by p.name limit ${NAMES}`.execute(db)
  return rows.map(({ name }) => name)
}

async function pairsOf(
  db: Db,
  { id, target }: Pick<SourceRow, 'id' | 'target'>,
  names: readonly string[],
): Promise<Pair[]> {
  const { rows } = await sql<Pair>`select p.id, p.name, p.arch, p.version, c.path, c.version as offered
    from packages p join catalog c on c.name = p.name and c.arch = p.arch and c.source_id = ${id}
    where p.distribution = ${target} and p.status = 'published' and p.name = any(${names}::text[])
    order by p.id, c.path`.execute(db)
  return rows
}

/** The newest own version of each package, where the newest one that is offered is newer. */
function newerOf(pairs: readonly Pair[], compare: (a: string, b: string) => number): Pair[] {
  const best = new Map<string, Pair>()
  for (const pair of pairs) {
    const key = JSON.stringify([pair.name, pair.arch])
    const known = best.get(key)
    const own = known ? compare(pair.version, known.version) : 1
    if (!known || own > 0 || (own === 0 && compare(pair.offered, known.offered) > 0)) best.set(key, pair)
  }
  return [...best.values()].filter(({ version, offered }) => compare(offered, version) > 0)
}

/** How many packages have a newer version in some security source. */
export async function countUpdates(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(distinct package_id)::int as n from security_updates`.execute(
    db,
  )
  return rows[0]?.n ?? 0
}

export interface SecurityUpdate {
  package: string
  version: string
  arch: string
  distribution: string
  newer: string
  source_id: number
  source: string
  path: string
  found_at: Date
  findings: number
}

/** One page, ordered by distribution and name. */
export async function securityUpdates(
  db: Db,
  distribution: string | undefined,
  { page, perPage }: { page: number; perPage: number },
): Promise<{ items: SecurityUpdate[]; total: number }> {
  const where = distribution === undefined ? sql`true` : sql`p.distribution = ${distribution}`
  const from = sql`security_updates u join packages p on p.id = u.package_id and p.status = 'published'
    join catalog c on c.source_id = u.source_id and c.path = u.path join sources s on s.id = u.source_id`
  const { rows: totals } = await sql<{ n: number }>`select count(*)::int as n from ${from} where ${where}`.execute(db)
  const { rows } =
    await sql<SecurityUpdate>`select p.name as package, p.version, p.arch, p.distribution, c.version as newer,
      s.id as source_id, s.name as source, u.path, u.found_at,
      (select count(*)::int from findings f where f.package_id = p.id) as findings
    from ${from} where ${where} order by p.distribution, p.name, p.arch, s.id
    limit ${perPage} offset ${(page - 1) * perPage}`.execute(db)
  return { items: rows, total: totals[0]?.n ?? 0 }
}
