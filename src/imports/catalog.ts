// The packages that upstream repositories offer: replaced as a whole by a sync, in one transaction, by difference.
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { CatalogEntry } from '../formats/catalog.ts'
import type { Db } from '../store/db.ts'

/** Rows in one statement: some 200 kB of JSON. */
const BATCH = 200

const COLUMNS = sql`source_id, path, fingerprint, name, version, arch, size_bytes, digest_algorithm, digest, section, description,
  source_package, source_version, requirements, provides`

export interface Replacement {
  /** Adds packages to what will take the place of the catalog. Of two with one path the first stays. */
  add(entries: readonly CatalogEntry[]): Promise<void>
  /**
   * Makes what was added the catalog of the source; only rows that differ are written.
   * @param within runs in the same transaction
   * @returns how many packages the source has
   */
  commit(within: (tx: Db, count: number) => Promise<void>): Promise<number>
}

/** Begins to replace the catalog of a source. What an interrupted replacement added is dropped. */
export async function replaceCatalog(db: Db, sourceId: number, now: Date): Promise<Replacement> {
  await dropIncoming(db, sourceId)
  return {
    async add(entries) {
      for (let at = 0; at < entries.length; at += BATCH) {
        const rows = JSON.stringify(entries.slice(at, at + BATCH).map(rowOf))
        await sql`insert into catalog_incoming (${COLUMNS})
          select ${sourceId}::bigint, path, fingerprint, name, version, arch, size_bytes, digest_algorithm, digest, section, description,
            source_package, source_version, requirements, provides
          from jsonb_to_recordset(${rows}::jsonb) as r (path text, fingerprint text, name text, version text, arch text,
            size_bytes bigint, digest_algorithm text, digest text, section text, description text, source_package text,
            source_version text, requirements jsonb, provides jsonb)
          on conflict do nothing`.execute(db)
      }
    },
    async commit(within) {
      return db.transaction().execute(async (tx) => {
        await sql`delete from catalog c where source_id = ${sourceId} and not exists (
          select from catalog_incoming i where i.source_id = c.source_id and i.path = c.path and i.fingerprint = c.fingerprint)`.execute(
          tx,
        )
        await sql`insert into catalog (${COLUMNS}, synced_at) select ${COLUMNS}, ${now}::timestamptz from catalog_incoming
          where source_id = ${sourceId} on conflict do nothing`.execute(tx)
        const { n } = await tx
          .selectFrom('catalog')
          .select(sql<number>`count(*)::int`.as('n'))
          .where('source_id', '=', sourceId)
          .executeTakeFirstOrThrow()
        await dropIncoming(tx, sourceId)
        await within(tx, n)
        return n
      })
    },
  }
}

/** Drops what a replacement that failed had added. */
export async function dropIncoming(db: Db, sourceId: number): Promise<void> {
  await db.deleteFrom('catalog_incoming').where('source_id', '=', sourceId).execute()
}

function rowOf(entry: CatalogEntry) {
  const row = {
    path: entry.path,
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
  return { ...row, fingerprint: createHash('sha1').update(JSON.stringify(row)).digest('base64') }
}
