// The packages that upstream repositories offer. A sync replaces all of them in one transaction and writes only differences.
import { sql, type RawBuilder } from 'kysely'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import type { CatalogBatch } from '../upstream/jobs/packages.ts'

/** Debian 12 has 1,000 for 63,000 packages. The packages of runs beyond that are read again. */
const MOST_KNOWN = 100_000

const COLUMNS = sql`source_id, path, fingerprint, name, version, arch, size_bytes, digest_algorithm, digest, section, description,
  source_package, source_version, requirements, provides`

export interface Replacement {
  /** Digests of the runs of records that the last sync of the source read. */
  known(): Promise<string[]>
  /** Adds packages to the next catalog. Of two with the same path the first stays. */
  add(batch: Pick<CatalogBatch, 'runs' | 'lines'>): Promise<void>
  /**
   * Makes the added packages the catalog of the source; only rows that differ are written.
   * @param within runs in the same transaction
   */
  commit(within: (tx: Db, counts: Counts) => Promise<void>): Promise<Counts & { changed: number }>
}

export interface Counts {
  /** packages that the source has */
  total: number
  /** records of its indexes that this service does not take as packages */
  leftOut: number
}

/** Begins to replace the catalog of a source. Drops what an interrupted replacement added. */
export async function replaceCatalog(db: Db, sourceId: number, now: Date): Promise<Replacement> {
  await dropIncoming(db, sourceId)
  const sizes = createSizes()
  return {
    async known() {
      const runs = db.selectFrom('catalog_runs').select('digest').where('source_id', '=', sourceId)
      return (await runs.limit(MOST_KNOWN).execute()).map(({ digest }) => digest)
    },
    async add({ runs, lines }) {
      if (lines.length > 0)
        await sql`insert into catalog_incoming (${COLUMNS}) select ${COLUMNS} from ${rowsOf(sourceId, lines)} where not exists (select from catalog c
            where c.source_id = r.source_id and c.path = r.path and c.fingerprint = r.fingerprint)
          on conflict do nothing`.execute(db)
      sizes.note(runs)
      await sql`insert into catalog_incoming_runs (source_id, digest, fingerprints) select * from ${runRows(sourceId, runs)}
        on conflict do nothing`.execute(db)
    },
    async commit(within) {
      const counts = await transaction(db, async (tx) => {
        const changed = (await replaceRuns(tx, sourceId)) ? await replacePackages(tx, sourceId, now) : 0
        const counted = await countChecked(tx, sourceId, sizes.records())
        await dropIncoming(tx, sourceId)
        await within(tx, counted)
        return { ...counted, changed }
      })
      await sortProvides(db)
      return counts
    },
  }
}

/**
 * Begins the first catalog of a source. Its rows are written once, where they stay: readers leave out sources that were never
 * synced. A replacement would copy 63,000 rows in a transaction that holds the embedded database for 3 to 6 s.
 */
export async function firstCatalog(db: Db, sourceId: number, now: Date): Promise<Replacement> {
  await dropFirst(db, sourceId)
  const sizes = createSizes()
  return {
    known: async () => [],
    async add({ runs, lines }) {
      if (lines.length > 0)
        await sql`insert into catalog (${COLUMNS}, synced_at) select ${COLUMNS}, ${now}::timestamptz from ${rowsOf(sourceId, lines)}
          on conflict do nothing`.execute(db)
      sizes.note(runs)
      await sql`insert into catalog_runs (source_id, digest, fingerprints) select * from ${runRows(sourceId, runs)}
        on conflict do nothing`.execute(db)
    },
    async commit(within) {
      const counts = await transaction(db, async (tx) => {
        await sql`insert into catalog_names (source_id, folded, name, packages)
          select source_id, lower(name), name, count(*)::int from catalog where source_id = ${sourceId}
          group by source_id, name`.execute(tx)
        const counted = await countChecked(tx, sourceId, sizes.records())
        await within(tx, counted)
        return { ...counted, changed: counted.total }
      })
      await sortProvides(db)
      return counts
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

/** Sorts new entries into the GIN index. Searches read unsorted ones one by one: 40 ms for each search of 200,000 rows. */
async function sortProvides(db: Db): Promise<void> {
  await sql`select gin_clean_pending_list('catalog_provides')`.execute(db)
}

/** Counts the records of all runs. A run that several indexes have counts once, as its packages do. */
function createSizes() {
  const sizes = new Map<string, number>()
  return {
    note: (runs: CatalogBatch['runs']) => runs.forEach(({ digest, size }) => sizes.set(digest, size)),
    records: () => [...sizes.values()].reduce((sum, size) => sum + size, 0),
  }
}

/** @param records of all runs */
async function countChecked(tx: Db, sourceId: number, records: number): Promise<Counts> {
  const { rows } = await sql<{ n: number }>`select coalesce(sum(cardinality(fingerprints)), 0)::int as n
    from catalog_runs where source_id = ${sourceId}`.execute(tx)
  const { n: total } = await tx
    .selectFrom('catalog')
    .select(sql<number>`count(*)::int`.as('n'))
    .where('source_id', '=', sourceId)
    .executeTakeFirstOrThrow()
  await forgetAmbiguous(tx, sourceId, total)
  return { total, leftOut: Math.max(0, records - (rows[0]?.n ?? 0)) }
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
 * If an index has two different records for one path, only one of them is in the catalog. When that one leaves the index, the
 * other must be in the catalog: this makes the next sync read everything.
 */
async function forgetAmbiguous(tx: Db, sourceId: number, count: number): Promise<void> {
  const { rows } = await sql<{ n: number }>`select count(distinct fingerprint)::int as n
    from (select unnest(fingerprints) as fingerprint from catalog_runs where source_id = ${sourceId}) f`.execute(tx)
  if (rows[0]?.n !== count) await tx.deleteFrom('catalog_runs').where('source_id', '=', sourceId).execute()
}

/** Packages as a table `r` with the columns of the catalog. This process does not parse what the reader sent. */
function rowsOf(sourceId: number, lines: Uint8Array): RawBuilder<unknown> {
  const rows = `[${Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength).toString('utf8')}]`
  return sql`(select ${sourceId}::bigint as source_id, path, fingerprint, name, version, arch, "sizeBytes" as size_bytes,
      digest->>'algorithm' as digest_algorithm, digest->>'hex' as digest, section, description,
      "sourcePackage" as source_package, "sourceVersion" as source_version, requirements, provides
    from json_to_recordset(${rows}::json) as given (path text, fingerprint text, name text, version text,
      arch text, "sizeBytes" bigint, digest json, section text, description text, "sourcePackage" text, "sourceVersion" text,
      requirements jsonb, provides jsonb)) as r`
}

/** The runs as a table; those that were not read have no fingerprints. */
function runRows(sourceId: number, runs: CatalogBatch['runs']): RawBuilder<unknown> {
  return sql`(select ${sourceId}::bigint, digest, fingerprints
    from json_to_recordset(${JSON.stringify(runs)}::json) as given (digest text, fingerprints text[])) as r`
}
