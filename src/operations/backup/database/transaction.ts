// One transaction in a borrowed session, which Kysely can use as well.
import { Kysely } from 'kysely'
import type { Database, Db } from '../../../store/db.ts'
import type { CopyLease, Lease } from '../../../store/lease.ts'
import { pgliteDialect } from '../../../store/pglite/driver.ts'
import type { Tables } from '../../../store/tables.ts'

export interface OpenTransaction {
  lease: CopyLease
  db: Db
}

/** @param mode the text after BEGIN, such as an isolation level */
export async function inTransaction<T>(
  database: Database,
  mode: string,
  work: (transaction: OpenTransaction) => Promise<T>,
): Promise<T> {
  const lease = await database.acquire()
  try {
    await lease.query(`begin ${mode}`, [])
    // Reading or writing a file between two statements can take longer than the usual limit of the service.
    await lease.query('set local idle_in_transaction_session_timeout = 0', [])
    const db = new Kysely<Tables>({ dialect: pgliteDialect({ acquire: async () => nested(lease) }) })
    try {
      const result = await work({ lease, db })
      await lease.query('commit', [])
      return result
    } catch (error) {
      // Reports the error of the work: the session may be lost together with the transaction.
      await lease.query('rollback', []).catch(() => {})
      throw error
    }
  } finally {
    lease.release()
  }
}

const SAVEPOINTS: Record<string, string> = {
  begin: 'savepoint nested',
  commit: 'release savepoint nested',
  rollback: 'rollback to savepoint nested',
}

/** The session for Kysely: its transactions are savepoints of the open one. */
function nested(lease: Lease): Lease {
  return { query: (sql, parameters) => lease.query(SAVEPOINTS[sql] ?? sql, parameters), release() {} }
}
