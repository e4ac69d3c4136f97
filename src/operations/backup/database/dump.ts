// Dumps the state of a database at one moment, in pg_dump's custom format, with either engine.
import { rm } from 'node:fs/promises'
import type { Database, Db } from '../../../store/db.ts'
import { writeArchive } from './write-archive.ts'
import { pgDump, type Environment } from './pg-dump.ts'
import { inTransaction } from './transaction.ts'

export interface Snapshot {
  /** reads the state of the database when the snapshot began */
  db: Db
  /**
   * Writes the dump to a new file with mode 0600 and flushes it. A dump that fails leaves no file.
   * @throws Problem(backup_unavailable) when pg_dump is missing, too old or fails
   * @throws the reason of the signal when it aborts
   */
  dump(path: string, options?: DumpOptions): Promise<void>
}

export interface DumpOptions {
  signal?: AbortSignal
  /** the program to run for PostgreSQL */
  program?: string
  /** the complete environment of the program, with PATH */
  environment?: Environment
}

const USUAL: Environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

/**
 * Holds a read-only transaction while the work runs: everything that it reads and dumps is of one moment.
 * PostgreSQL serves others meanwhile. The embedded database has one session only, so all other queries wait until the work ends.
 */
export function withSnapshot<T>(database: Database, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return inTransaction(database, 'isolation level repeatable read, read only', async ({ lease, db }) => {
    // The first statement takes the snapshot.
    const id =
      database.engine === 'postgres'
        ? String((await lease.query('select pg_export_snapshot() as id', [])).rows[0]?.['id'])
        : String((await lease.query('select 1 as id', [])).rows[0]?.['id'])
    return work({
      db,
      async dump(path, { signal, program = 'pg_dump', environment = USUAL } = {}) {
        signal?.throwIfAborted()
        try {
          if (database.engine === 'pglite') await writeArchive(lease, path, signal)
          else await pgDump({ lease, url: database.url, snapshot: id, program, environment, path, signal })
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(path, { force: true })
          throw error
        }
      },
    })
  })
}

/** Dumps the database alone. */
export function dumpDatabase(database: Database, path: string, options?: DumpOptions): Promise<void> {
  return withSnapshot(database, (snapshot) => snapshot.dump(path, options))
}
