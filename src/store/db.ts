// Opens the database named by DATABASE_URL: PostgreSQL, or the embedded one (PGlite) in a directory.
//
// The room: `records/` has the rows of packages that several rooms read, `files/` the stored files, `advisories/` the data about
// vulnerabilities, `pglite/` the embedded database. A file named `<thing>-query.ts` only reads, for lists and documents; any
// other file named after a thing also writes it.
import { Kysely, Migrator, PostgresAdapter, PostgresDialect, sql, type MigrationLockOptions } from 'kysely'
import pg from 'pg'
import { createPool } from './database-away.ts'
import { pgliteDialect } from './pglite/driver.ts'
import { directoryOf, openEmbedded } from './pglite/open.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { laterMigrations, ranAlready } from './migrations/later.ts'
import { leaseOf } from './postgres-lease.ts'
import type { CopyLease } from './lease.ts'
import type { Tables } from './tables.ts'
import { LONGEST_STATEMENT_MS } from './pglite/session.ts'
import { asError } from '../kernel/errors.ts'
import { isTraced } from '../kernel/trace.ts'
import { traceStatement } from './sql-span.ts'

export type Db = Kysely<Tables>

export interface Database {
  db: Db
  engine: 'postgres' | 'pglite'
  /** the URL it was opened with; contains the password */
  url: string
  /** Lends a session: with PostgreSQL a connection of the pool, with the embedded database the only one. */
  acquire(): Promise<CopyLease>
  close(): Promise<void>
}

/** Type number of bigint, which `pg` returns as text; our values stay far below 2^53. */
const INT8 = 20

export interface DatabaseOptions {
  /** connections to PostgreSQL */
  poolSize?: number
  /** a statement that takes longer is stopped; in milliseconds */
  longestStatementMs?: number
  /** how long PostgreSQL lets a transaction wait for its next statement; in milliseconds */
  longestPauseMs?: number
  /** how long a statement waits for a lock; in milliseconds */
  longestLockWaitMs?: number
  onError?: (error: Error) => void
}

/**
 * A process that freezes in a transaction keeps its row locks for this long, and all replicas wait. Transactions have no I/O
 * except the publisher's rename, so a pause takes microseconds. Work that has to pause (dumps) sets a separate limit.
 */
const LONGEST_PAUSE_MS = 10_000
/** More than the longest pause: a statement that waits for a frozen process continues after it. */
const LONGEST_LOCK_WAIT_MS = 15_000

/**
 * @param url `postgres://…`, `pglite://<directory>` or `pglite://memory` (tests)
 * @throws StartError when another process uses the directory of an embedded database
 */
export async function openDatabase(
  url: string,
  {
    poolSize = 12,
    longestStatementMs = LONGEST_STATEMENT_MS,
    longestPauseMs = LONGEST_PAUSE_MS,
    longestLockWaitMs = LONGEST_LOCK_WAIT_MS,
    onError,
  }: DatabaseOptions = {},
): Promise<Database> {
  const log = isTraced() ? { log: traceStatement } : {}
  if (url.startsWith('pglite://')) {
    const session = await openEmbedded(directoryOf(url), longestStatementMs)
    const db = new Kysely<Tables>({ dialect: pgliteDialect(session), ...log })
    return {
      db,
      engine: 'pglite',
      url,
      acquire: () => session.acquire(),
      async close() {
        await db.destroy()
        await session.close()
      },
    }
  }
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, Number)
  const pool = createPool({
    connectionString: url,
    max: poolSize,
    types,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    statement_timeout: longestStatementMs,
    // A server that disappears without closing the connection ends no statement itself.
    query_timeout: longestStatementMs + 10_000,
    idle_in_transaction_session_timeout: longestPauseMs,
    lock_timeout: longestLockWaitMs,
  })
  pool.on('error', (error) => onError?.(error))
  // The pool handles errors of idle connections only: one lost in a transaction would otherwise end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<Tables>({ dialect: new PatientDialect({ pool }), ...log })
  return { db, engine: 'postgres', url, acquire: () => leaseOf(pool), close: () => db.destroy() }
}

/** Migrations wait for other transactions (a dump reads every table) as long as a statement may take. */
class PatientDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new PatientAdapter()
  }
}

class PatientAdapter extends PostgresAdapter {
  override async acquireMigrationLock(db: Kysely<unknown>, options: MigrationLockOptions): Promise<void> {
    await super.acquireMigrationLock(db, options)
    await sql`set lock_timeout = 0`.execute(db)
  }
  override async releaseMigrationLock(db: Kysely<unknown>, options: MigrationLockOptions): Promise<void> {
    await sql`reset lock_timeout`.execute(db)
    await super.releaseMigrationLock(db, options)
  }
}

/**
 * Migrates to the newest schema. Several processes may call it at the same time; each migration runs once.
 * @param to name of the last migration to run, instead of the newest
 * @returns the migrations of a newer build that the database has beyond that
 * @throws NewerDatabase when this build cannot work with them
 */
export async function migrate(db: Db, to?: string): Promise<string[]> {
  const later = await laterMigrations(db, Object.keys(MIGRATIONS))
  const migrations = { ...MIGRATIONS, ...Object.fromEntries(later.map((name) => [name, ranAlready])) }
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const { error } = await (to === undefined ? migrator.migrateToLatest() : migrator.migrateTo(to))
  if (error) throw asError(error)
  return later
}

/** Name of the newest migration that was applied; null on an empty schema. */
export async function schemaVersion(db: Db): Promise<string | null> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name desc limit 1`.execute(db)
  return rows[0]?.name ?? null
}
