// Imports advisories: builds the next generation in short transactions and makes it visible at the end.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Advisory } from '../../domain/advisory.ts'
import type { AdvisoryImport, KnownAdvisory, NewAdvisory } from '../../domain/advisory-store.ts'
import { Problem } from '../../domain/problem.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../db.ts'
import { transaction } from '../transaction.ts'

/** An import without a heartbeat for this long is dead; its longest statement takes seconds. */
const LEASE_MS = 10 * 60 * 1000
/** Generations whose changes are kept: a month of daily imports of ten feeds. */
const REMEMBERED = 300

export async function beginImport(db: Db, clock: Clock, feed: string): Promise<AdvisoryImport> {
  const writer = randomUUID()
  const { building, generation } = await claim(db, clock, writer)
  const release = () =>
    db.updateTable('advisory_state').set({ writer: null, building: null }).where('writer', '=', writer).execute()
  const known = await tidy(db, generation)
    .then(() => inForce(db, feed))
    .catch(async (error: unknown) => {
      await release()
      throw error
    })
  let put = 0

  /** Before every write, verifies that this import is still the writer; the row lock prevents a takeover until the commit. */
  const fenced = <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    transaction(db, async (tx) => {
      const held = await tx
        .updateTable('advisory_state')
        .set({ heartbeat_at: clock.now() })
        .where('writer', '=', writer)
        .returning('id')
        .executeTakeFirst()
      if (!held) throw new Problem('already_running', 'another import of advisories has taken over')
      return work(tx)
    })

  return {
    known,
    async put(batch) {
      await fenced((tx) => putBatch(tx, feed, building, batch))
      put += batch.length
    },

    async finish({ digest, advisories, keep }) {
      const gone = [...known.keys()].filter((id) => !keep(id))
      await fenced((tx) => retire(tx, feed, building, gone))
      const changed = put > 0 || gone.length > 0
      if (changed) await fenced((tx) => noteChanges(tx, feed, building, known.size === 0))
      const summary = changed
        ? {
            ecosystems: JSON.stringify(await countEcosystems(db, building)),
            vulnerable: JSON.stringify(await vulnerablePackages(db, building)),
          }
        : {}
      await fenced(async (tx) => {
        const current = changed ? building : generation
        const now = clock.now()
        const row = { digest, advisories, generation: current, imported_at: now, checked_at: now, error: null }
        await tx
          .insertInto('advisory_feeds')
          .values({ name: feed, ...row })
          .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
          .execute()
        // Waits for transactions that are storing records (`packages/records/evidence`).
        await sql`select id from advisory_state for update`.execute(tx)
        await tx
          .updateTable('advisory_state')
          .set({
            generation: current,
            writer: null,
            building: null,
            ...summary,
          })
          .execute()
      })
      // Every import leaves dead rows, and PGlite has no background process to vacuum them.
      if (changed) await sql`vacuum (analyze) advisories, advisory_packages`.execute(db)
      return { generation: changed ? building : generation, removed: gone.length }
    },

    async abandon() {
      const held = await db.selectFrom('advisory_state').select('id').where('writer', '=', writer).executeTakeFirst()
      if (!held) return
      await fenced(async (tx) => {
        await tidy(tx, generation)
        await tx.updateTable('advisory_state').set({ writer: null, building: null }).execute()
      })
    },
  }
}

/** Ends an import whose process is dead. If the process is alive after all, its next write fails. */
export async function endImport(db: Db): Promise<void> {
  await db.updateTable('advisory_state').set({ writer: null, building: null }).where('writer', 'is not', null).execute()
}

async function claim(db: Db, clock: Clock, writer: string): Promise<{ building: number; generation: number }> {
  const now = clock.now()
  const row = await db
    .updateTable('advisory_state')
    .set({ writer, heartbeat_at: now, building: sql<number>`greatest(generation, coalesce(building, 0)) + 1` })
    .where((eb) => eb.or([eb('writer', 'is', null), eb('heartbeat_at', '<', new Date(now.getTime() - LEASE_MS))]))
    .returning(['building', 'generation'])
    .executeTakeFirst()
  if (!row) throw new Problem('already_running', 'another import of advisories is under way')
  return { building: row.building!, generation: row.generation }
}

async function inForce(db: Db, feed: string): Promise<Map<string, KnownAdvisory>> {
  const rows = await db
    .selectFrom('advisories')
    .select(['id', 'digest', 'source', 'modified'])
    .where('feed', '=', feed)
    .where('until', 'is', null)
    .execute()
  return new Map(
    rows.map(({ id, digest, source, modified }) => [id, { digest, source, modified: modified.toISOString() }]),
  )
}

/**
 * Removes the rows of a dead import and rows that no reader uses any more. Readers query the generation first and its
 * rows later, so the previous generation is kept.
 */
async function tidy(db: Db, generation: number): Promise<void> {
  await sql`delete from advisory_packages where advisory in (select key from advisories where since > ${generation})`.execute(
    db,
  )
  await db.deleteFrom('advisories').where('since', '>', generation).execute()
  await db.updateTable('advisories').set({ until: null }).where('until', '>', generation).execute()
  await db.deleteFrom('advisory_changes').where('generation', '>', generation).execute()
  await sql`delete from advisory_packages where advisory in (select key from advisories where until < ${generation})`.execute(
    db,
  )
  await db.deleteFrom('advisories').where('until', '<', generation).execute()
  const floor = generation - REMEMBERED
  if (floor <= 0) return
  await db.deleteFrom('advisory_changes').where('generation', '<=', floor).execute()
  await db.updateTable('advisory_state').set({ changes_floor: floor }).where('changes_floor', '<', floor).execute()
}

async function putBatch(tx: Db, feed: string, building: number, batch: readonly NewAdvisory[]): Promise<void> {
  const ids = batch.map(({ advisory }) => advisory.id)
  await sql`delete from advisory_packages where advisory in (
    select key from advisories where feed = ${feed} and id = any(${ids}::text[]) and since = ${building})`.execute(tx)
  await sql`delete from advisories where feed = ${feed} and id = any(${ids}::text[]) and since = ${building}`.execute(
    tx,
  )
  await retire(tx, feed, building, ids)
  const of = <T>(pick: (advisory: Advisory) => T) => batch.map(({ advisory }) => pick(advisory))
  const { rows } = await sql<{ key: number; id: string }>`
    insert into advisories (feed, since, id, digest, source, modified, withdrawn, severity, cvss, summary, cves, aliases, urls, notes, security)
    select ${feed}, ${building}::bigint, id, digest, source, modified, withdrawn, severity, cvss, summary,
      cves::jsonb, aliases::jsonb, urls::jsonb, notes::jsonb, security
    from unnest(${ids}::text[], ${batch.map((one) => one.digest)}::text[], ${batch.map((one) => one.source)}::text[], ${of((a) => a.modified)}::timestamptz[],
      ${of((a) => a.withdrawn)}::timestamptz[], ${of((a) => a.severity)}::text[], ${of((a) => a.cvss)}::float8[],
      ${of((a) => a.summary)}::text[], ${of((a) => JSON.stringify(a.cves))}::text[],
      ${of((a) => JSON.stringify(a.aliases))}::text[], ${of((a) => JSON.stringify(a.urls))}::text[],
      ${of((a) => JSON.stringify(a.notes))}::text[], ${of((a) => a.security)}::boolean[])
      as t (id, digest, source, modified, withdrawn, severity, cvss, summary, cves, aliases, urls, notes, security)
    returning key, id`.execute(tx)
  const keys = new Map(rows.map((row) => [row.id, row.key]))
  const entries = batch.flatMap(({ advisory, affected }) =>
    affected.map((entry) => ({ ...entry, key: keys.get(advisory.id)! })),
  )
  if (entries.length === 0) return
  await sql`
    insert into advisory_packages (advisory, ecosystem, package, ranges, versions, severity, cvss, wont_fix, stream)
    select advisory, ecosystem, package, ranges::jsonb, versions::jsonb, severity, cvss, wont_fix, stream
    from unnest(${entries.map((e) => e.key)}::bigint[], ${entries.map((e) => e.ecosystem)}::text[],
      ${entries.map((e) => e.package)}::text[], ${entries.map((e) => JSON.stringify(e.ranges))}::text[],
      ${entries.map((e) => JSON.stringify(e.versions))}::text[], ${entries.map((e) => e.severity)}::text[],
      ${entries.map((e) => e.cvss)}::float8[], ${entries.map((e) => e.wontFix)}::boolean[], ${entries.map((e) => e.stream)}::text[])
      as t (advisory, ecosystem, package, ranges, versions, severity, cvss, wont_fix, stream)`.execute(tx)
}

async function retire(tx: Db, feed: string, building: number, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`update advisories set until = ${building}
    where feed = ${feed} and id = any(${[...ids]}::text[]) and until is null and since < ${building}`.execute(tx)
}

/** A feed's first import changes all packages of its ecosystems, so it stores one row instead of one for each name. */
async function noteChanges(tx: Db, feed: string, building: number, first: boolean): Promise<void> {
  await sql`insert into advisory_changes (generation, ecosystem, package)
    select distinct ${building}::bigint, p.ecosystem, ${first ? sql`'*'` : sql`p.package`}
    from advisories a join advisory_packages p on p.advisory = a.key
    where a.feed = ${feed} and (a.since = ${building} or a.until = ${building})
    on conflict do nothing`.execute(tx)
}

async function countEcosystems(db: Db, generation: number) {
  const { rows } = await sql<{ ecosystem: string; entries: number; newest: Date }>`
    select p.ecosystem, count(*)::float8 as entries, max(a.modified) as newest
    from advisory_packages p join advisories a on a.key = p.advisory
    where a.since <= ${generation} and (a.until is null or a.until > ${generation})
    group by p.ecosystem order by p.ecosystem`.execute(db)
  return Object.fromEntries(
    rows.map(({ ecosystem, entries, newest }) => [ecosystem, { entries, newest: newest.toISOString() }]),
  )
}

/** Packages kept for each ecosystem. */
const MOST_VULNERABLE = 10

/**
 * The packages with the most advisories that affect every version up to a fix. An import reads all entries once; a query
 * for each self-test of a scanner would read them again every hour.
 */
async function vulnerablePackages(db: Db, generation: number) {
  const { rows } = await sql<{ ecosystem: string; package: string; advisories: number }>`
    select ecosystem, package, advisories from (
      select p.ecosystem, p.package, count(distinct p.advisory)::int as advisories,
        row_number() over (partition by p.ecosystem order by count(distinct p.advisory) desc, p.package) as place
      from advisory_packages p join advisories a on a.key = p.advisory
      where a.since <= ${generation} and (a.until is null or a.until > ${generation}) and a.withdrawn is null and a.security
        and not p.wont_fix and p.stream is null and p.ranges @> '[{"events": [{"introduced": "0"}]}]'
      group by p.ecosystem, p.package) ranked
    where place <= ${MOST_VULNERABLE} order by ecosystem, place`.execute(db)
  const found: Record<string, { package: string; advisories: number }[]> = {}
  for (const { ecosystem, ...entry } of rows) (found[ecosystem] ??= []).push(entry)
  return found
}
