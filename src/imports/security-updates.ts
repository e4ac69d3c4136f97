// Which offered packages have a newer version in a security source. Compared after each sync of such a source, and again when
// its distribution has changed since.
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
 * Compares what the source offers with what clients of its distribution are offered. Both are read name by name, in the
 * order of an index.
 * @returns how many packages have a newer version there
 */
export async function findSecurityUpdates(
  db: Db,
  source: Compared,
  { versions }: Pick<PackageFormat, 'versions'>,
  now: Date,
): Promise<number> {
  const { revision } = await stateOf(db, source)
  let count = 0
  const common = (after: string) => commonNames(db, source, after)
  for await (const names of inTurn(common)) count += await compareNames(db, source, names, versions.compare, now)
  await db.deleteFrom('security_updates').where('source_id', '=', source.id).where('found_at', '<', now).execute()
  await db.updateTable('sources').set({ compared_revision: revision }).where('id', '=', source.id).execute()
  return count
}

/**
 * Compares what changed in distributions since they were last compared with their security sources: imports, promotions and
 * decisions after a sync. Called before the updates are shown; costs nothing when nothing changed.
 */
export async function followDistributions(db: Db, formats: readonly PackageFormat[], now: Date): Promise<void> {
  const behind = await db
    .selectFrom('sources')
    .innerJoin('distributions', 'distributions.codename', 'sources.target')
    .select(['sources.id', 'sources.type', 'sources.target', 'compared_revision', 'revision', 'history_floor'])
    .where('security', '=', true)
    .where('last_sync', 'is not', null)
    .where((eb) => eb.or([eb('compared_revision', 'is', null), eb('compared_revision', '<>', eb.ref('revision'))]))
    .orderBy('sources.id')
    .execute()
  for (const { compared_revision: since, revision, history_floor: floor, ...source } of behind) {
    const format = formats.find((one) => one.repoFormat === source.type)
    if (!format) continue
    // History was deleted, or the database was restored: what changed since is unknown.
    if (since === null || since < floor || since > revision) await findSecurityUpdates(db, source, format, now)
    else {
      const changed = (after: string) => changedNames(db, source, since, after)
      for await (const names of inTurn(changed)) await compareNames(db, source, names, format.versions.compare, now)
      await db.updateTable('sources').set({ compared_revision: revision }).where('id', '=', source.id).execute()
    }
  }
}

type Compared = Pick<SourceRow, 'id' | 'target'>

async function stateOf(db: Db, { target }: Compared): Promise<{ revision: number | null }> {
  const row = db
    .selectFrom('distributions')
    .select('revision')
    .where('codename', '=', target ?? '')
  return (await row.executeTakeFirst()) ?? { revision: null }
}

/** Pages of names; each starts after the last name of the previous page. */
async function* inTurn(page: (after: string) => Promise<string[]>): AsyncGenerator<string[], void> {
  for (let after: string | undefined = ''; after !== undefined;) {
    const names = await page(after)
    if (names.length > 0) yield names
    after = names.at(-1)
  }
}

/** @returns how many of them have a newer version in the source */
async function compareNames(
  db: Db,
  source: Compared,
  names: readonly string[],
  compare: (a: string, b: string) => number,
  now: Date,
): Promise<number> {
  const newer = newerOf(await pairsOf(db, source, names), compare)
  const ids = sql`${newer.map(({ id }) => id)}::bigint[]`
  await sql`delete from security_updates where source_id = ${source.id} and package_id <> all(${ids})
    and package_id in (select id from packages where distribution = ${source.target}
      and name = any(${[...names]}::text[]))`.execute(db)
  await sql`insert into security_updates (source_id, package_id, path, found_at)
    select ${source.id}::bigint, id, path, ${now}::timestamptz
    from unnest(${ids}, ${newer.map(({ path }) => path)}::text[]) as u (id, path)
    where exists (select from packages p where p.id = u.id)
    on conflict (source_id, package_id) do update set path = excluded.path, found_at = excluded.found_at`.execute(db)
  return newer.length
}

async function commonNames(db: Db, { id, target }: Compared, after: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select distinct o.name from offers o
    where o.distribution = ${target} and o.until_revision is null and o.name > ${after}
      and exists (select from catalog c where c.name = o.name and c.source_id = ${id})
    order by o.name limit ${NAMES}`.execute(db)
  return rows.map(({ name }) => name)
}

async function changedNames(db: Db, { target }: Compared, since: number, after: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select distinct name from offers
    where distribution = ${target} and (from_revision > ${since} or until_revision > ${since}) and name > ${after}
    order by name limit ${NAMES}`.execute(db)
  return rows.map(({ name }) => name)
}

async function pairsOf(db: Db, { id, target }: Compared, names: readonly string[]): Promise<Pair[]> {
  const { rows } = await sql<Pair>`select o.package_id as id, o.name, o.arch, o.version, c.path, c.version as offered
    from offers o join catalog c on c.name = o.name and c.arch = o.arch and c.source_id = ${id}
    where o.distribution = ${target} and o.until_revision is null and o.name = any(${[...names]}::text[])
    order by o.package_id, c.path`.execute(db)
  return rows
}

/** The newest own version of each package, if the source's newest version is newer. */
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
  const { rows } = await sql<{ n: number }>`select count(distinct u.package_id)::int as n from security_updates u
    join offers o on o.package_id = u.package_id and o.until_revision is null`.execute(db)
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
  const from = sql`security_updates u join packages p on p.id = u.package_id
    join offers o on o.package_id = p.id and o.until_revision is null
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
