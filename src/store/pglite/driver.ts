// Kysely over a session: the session of the embedded database, or one that is lent for a whole transaction. Knows no table.
import {
  CompiledQuery,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely'
import type { Lease } from '../lease.ts'

interface Connection extends DatabaseConnection {
  release(): void
}

function connectionOver(lease: Lease): Connection {
  async function executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, affectedRows } = await lease.query(sql, parameters)
    return {
      rows: rows as R[],
      ...(affectedRows === undefined ? {} : { numAffectedRows: BigInt(affectedRows) }),
    }
  }
  return {
    executeQuery,
    // The session has no cursors: a stream returns all rows as one result.
    async *streamQuery<R>(query: CompiledQuery) {
      yield await executeQuery<R>(query)
    },
    release: () => lease.release(),
  }
}

const command = (sql: string) => async (connection: DatabaseConnection) => {
  await connection.executeQuery(CompiledQuery.raw(sql))
}

/** @param session lends the session to one caller at a time */
export function pgliteDialect(session: { acquire(): Promise<Lease> }): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: (): Driver => ({
      init: async () => {},
      acquireConnection: async () => connectionOver(await session.acquire()),
      releaseConnection: async (connection) => (connection as Connection).release(),
      beginTransaction: command('begin'),
      commitTransaction: command('commit'),
      rollbackTransaction: command('rollback'),
      destroy: async () => {},
    }),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}
