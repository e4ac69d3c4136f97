// The packages that upstream repositories offer: replaced as a whole by a sync, in one transaction, by difference.
import { sql, type RawBuilder } from 'kysely'
import type { CatalogEntry } from '../formats/catalog.ts'
import type { Db } from '../store/db.ts'
import type { CatalogRun, KnownRuns } from '../upstream/staged-catalog.ts'

/** Rows in one statement: some 500 kB of JSON. */
const BATCH = 500

const COLUMNS = sql`source_id, path, fingerprint, name, version, arch, size_bytes, digest_algorithm, digest, section, description,
  source_package, source_version, requirements, provides`

export interface Replacement {
  /** those runs of records that the last sync of the source brought too */
  known: KnownRuns
  /** Adds packages to what will take the place of the catalog. Of two with one path the first stays. */
  add(runs: readonly CatalogRun[]): Promise<void>
  /**
   * Makes what was added the catalog of the source; only rows that differ are written.
   * @param within runs in the same transaction
   * @returns how many packages the source has, and how many of them are new or changed
   */
  commit(within: (tx: Db, count: number) => Promise<void>): Promise<{ total: number; changed: number }>
}

/** Begins to replace the catalog of a source. What an interrupted replacement added is dropped. */
export async function replaceCatalog(db: Db, sourceId: number, now: Date): Promise<Replacement> {
  await dropIncoming(db, sourceId)
  return {
    async known(digests) {
      const rows = await db
        .selectFrom('catalog_runs')
        .select('digest')
        .where('source_id', '=', sourceId)
        .where('digest', 'in', digests)
        .execute()
      return new Set(rows.map(({ digest }) => digest))
    },
    async add(runs) {
      for (const rows of rowsOf(sourceId, runs))
        await sql`insert into catalog_incoming (${COLUMNS}) select ${COLUMNS} from ${rows} where not exists (select from catalog c
            where c.source_id = r.source_id and c.path = r.path and c.fingerprint = r.fingerprint)
          on conflict do nothing`.execute(db)
      await sql`insert into catalog_incoming_runs (source_id, digest, fingerprints) select * from ${runRows(sourceId, runs)}
        on conflict do nothing`.execute(db)
    },
    async commit(within) {
      const counts = await db.transaction().execute(async (tx) => {
        const changed = (await replaceRuns(tx, sourceId)) ? await replacePackages(tx, sourceId, now) : 0
        const total = await countChecked(tx, sourceId)
        await dropIncoming(tx, sourceId)
        await within(tx, total)
        return { total, changed }
      })
      await sortProvides(db)
      return counts
    },
  }
}

/**
 * Begins the first catalog of a source. Its rows are written once, where they stay: readers leave out sources that were never
 * synced. With a replacement, the transaction that copies 63,000 rows holds the embedded database for 3 to 6 s.
 */
export async function firstCatalog(db: Db, sourceId: number, now: Date): Promise<Replacement> {
  await dropFirst(db, sourceId)
  return {
    known: async () => new Set(),
    async add(runs) {
      for (const rows of rowsOf(sourceId, runs))
        await sql`insert into catalog (${COLUMNS}, synced_at) select ${COLUMNS}, ${now}::timestamptz from ${rows}
          on conflict do nothing`.execute(db)
      await sql`insert into catalog_runs (source_id, digest, fingerprints) select * from ${runRows(sourceId, runs)}
        on conflict do nothing`.execute(db)
    },
    async commit(within) {
      const total = await db.transaction().execute(async (tx) => {
        await sql`insert into catalog_names (source_id, folded, name, packages)
          select source_id, lower(name), name, count(*)::int from catalog where source_id = ${sourceId}
          group by source_id, name`.execute(tx)
        const n = await countChecked(tx, sourceId)
        await within(tx, n)
        return n
      })
      await sortProvides(db)
      return { total, changed: total }
    },
  }
}

/** Drops what a replacement that failed had added. */
export async function dropIncoming(db: Db, sourceId: number): Promise<void> {
  await db.deleteFrom('catalog_incoming').where('source_id', '=', sourceId).execute()
  await db.deleteFrom('catalog_incoming_runs').where('source_id', '=', sourceId).execute()
}

/** Drops what a first catalog that failed had added. */
export async function dropFirst(db: Db, sourceId: number): Promise<void> {
  await db.deleteFrom('catalog').where('source_id', '=', sourceId).execute()
  await db.deleteFrom('catalog_runs').where('source_id', '=', sourceId).execute()
}

/** Searches read new entries of a GIN index one by one until they are sorted in: 40 ms for each search of 200,000 rows. */
async function sortProvides(db: Db): Promise<void> {
  await sql`select gin_clean_pending_list('catalog_provides')`.execute(db)
}

/** @returns how many packages the source has */
async function countChecked(tx: Db, sourceId: number): Promise<number> {
  const { n } = await tx
    .selectFrom('catalog')
    .select(sql<number>`count(*)::int`.as('n'))
    .where('source_id', '=', sourceId)
    .executeTakeFirstOrThrow()
  await forgetAmbiguous(tx, sourceId, n)
  return n
}

/** @returns whether there is any difference */
async function replaceRuns(tx: Db, sourceId: number): Promise<boolean> {
  const gone = await sql`delete from catalog_runs r where source_id = ${sourceId} and not exists (
    select from catalog_incoming_runs i where i.source_id = r.source_id and i.digest = r.digest)`.execute(tx)
  const added = await sql`insert into catalog_runs (source_id, digest, fingerprints)
    select source_id, digest, fingerprints from catalog_incoming_runs
    where source_id = ${sourceId} and fingerprints is not null on conflict do nothing`.execute(tx)
  return Number(gone.numAffectedRows) + Number(added.numAffectedRows) > 0
}

/** @returns how many packages are new or changed */
async function replacePackages(tx: Db, sourceId: number, now: Date): Promise<number> {
  await sql`with
    kept as materialized (select unnest(fingerprints) as fingerprint from catalog_runs where source_id = ${sourceId}),
    gone as (delete from catalog c where source_id = ${sourceId}
      and not exists (select from kept where kept.fingerprint = c.fingerprint) returning name),
    fewer as (select name, count(*)::int as n from gone group by name)
    update catalog_names c set packages = packages - n from fewer
    where c.source_id = ${sourceId} and c.folded = lower(fewer.name) and c.name = fewer.name`.execute(tx)
  const { rows } = await sql<{ n: number }>`with
    added as (insert into catalog (${COLUMNS}, synced_at) select ${COLUMNS}, ${now}::timestamptz from catalog_incoming
      where source_id = ${sourceId} on conflict do nothing returning name),
    named as (insert into catalog_names (source_id, folded, name, packages)
      select ${sourceId}::bigint, lower(name), name, count(*)::int from added group by name
      on conflict (folded, name, source_id) do update set packages = catalog_names.packages + excluded.packages)
    select count(*)::int as n from added`.execute(tx)
  await tx.deleteFrom('catalog_names').where('source_id', '=', sourceId).where('packages', '=', 0).execute()
  return rows[0]?.n ?? 0
}

/**
 * An index that says two things of one path has packages that are not in the catalog. When the other one leaves, they must
 * be: the next sync reads everything.
 */
async function forgetAmbiguous(tx: Db, sourceId: number, count: number): Promise<void> {
  const { rows } = await sql<{ n: number }>`select count(distinct fingerprint)::int as n
    from (select unnest(fingerprints) as fingerprint from catalog_runs where source_id = ${sourceId}) f`.execute(tx)
  if (rows[0]?.n !== count) await tx.deleteFrom('catalog_runs').where('source_id', '=', sourceId).execute()
}

/** The packages of runs as tables `r` with the columns of the catalog, each for one statement. */
function* rowsOf(sourceId: number, runs: readonly CatalogRun[]): Generator<RawBuilder<unknown>> {
  const packages = runs.flatMap((run) => run.packages ?? [])
  for (let at = 0; at < packages.length; at += BATCH) {
    const rows = JSON.stringify(packages.slice(at, at + BATCH).map(rowOf))
    yield sql`(select ${sourceId}::bigint as source_id, * from json_to_recordset(${rows}::json) as given (path text, fingerprint text,
      name text, version text, arch text, size_bytes bigint, digest_algorithm text, digest text, section text, description text,
      source_package text, source_version text, requirements jsonb, provides jsonb)) as r`
  }
}

/** The runs as a table; those that were not read have no fingerprints. */
function runRows(sourceId: number, runs: readonly CatalogRun[]): RawBuilder<unknown> {
  const rows = runs.map(({ digest, packages }) => ({
    digest,
    fingerprints: packages?.map(({ fingerprint }) => fingerprint) ?? null,
  }))
  return sql`(select ${sourceId}::bigint, digest, fingerprints
    from json_to_recordset(${JSON.stringify(rows)}::json) as given (digest text, fingerprints text[])) as r`
}

function rowOf({ entry, fingerprint }: { entry: CatalogEntry; fingerprint: string }) {
  return {
    path: entry.path,
    fingerprint,
    name: entry.name,
    version: entry.version,
    arch: entry.arch,
    size_bytes: entry.sizeBytes,
    digest_algorithm: entry.digest.algorithm,
    digest: entry.digest.hex,
    section: entry.section,
    description: entry.description,
    source_package: entry.sourcePackage,
    source_version: entry.sourceVersion,
    requirements: entry.requirements,
    provides: entry.provides,
  }
}
