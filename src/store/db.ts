// Opens the database named by DATABASE_URL: PostgreSQL, or PGlite in a directory. Nothing else knows which it is.
import { Kysely, Migrator, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { pgliteDialect } from './pglite/driver.ts'
import { openEmbedded } from './pglite/open.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>

export interface Database {
  db: Db
  engine: 'postgres' | 'pglite'
  close(): Promise<void>
}

/** bigint and numeric counts arrive as text from `pg`; ours stay far below 2^53. */
const INT8 = 20

/**
 * @param url `postgres://…`, `pglite://<directory>` or `pglite://memory` (tests)
 * @throws when the directory of an embedded database is held by a living process
 */
export async function openDatabase(
  url: string,
  options: { poolSize?: number; onError?: (error: Error) => void } = {},
): Promise<Database> {
  if (url.startsWith('pglite://')) {
    const place = decodeURIComponent(url.slice('pglite://'.length))
    const session = await openEmbedded(place === 'memory' ? null : place)
    const db = new Kysely<Tables>({ dialect: pgliteDialect(session) })
    return {
      db,
      engine: 'pglite',
      async close() {
        await db.destroy()
        await session.close()
      },
    }
  }
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, Number)
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize ?? 12,
    types,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  })
  pool.on('error', (error) => options.onError?.(error))
  // The pool listens to idle connections only: one lost in the middle of a transaction would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return { db, engine: 'postgres', close: () => db.destroy() }
}

/** Brings the schema to the newest version; several processes may call it at once, migrations run once. */
export async function migrate(db: Db): Promise<void> {
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } }).migrateToLatest()
  if (error) throw error
}

/** The newest migration applied, or null on an empty schema. */
export async function schemaVersion(db: Db): Promise<string | null> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name desc limit 1`.execute(db)
  return rows[0]?.name ?? null
}
