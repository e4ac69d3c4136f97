// A connection to PostgreSQL, lent to one caller.
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type pg from 'pg'
import { from, to } from 'pg-copy-streams'
import type { CopyLease } from './lease.ts'

/** Borrows a connection of the pool. A connection that failed in a transaction is closed instead of being used again. */
export async function leaseOf(pool: pg.Pool): Promise<CopyLease> {
  const client = await pool.connect()
  let failure: Error | null = null
  client.once('error', (error: Error) => (failure = error))
  return {
    async query(sql, parameters) {
      const { rows, rowCount } = await client.query<Record<string, unknown>>(sql, [...parameters])
      return { rows, affectedRows: rowCount ?? undefined }
    },
    copyOut: (source) => buffer(client.query(to(`copy ${source} to stdout`))),
    copyIn: (target, text) => pipeline(Readable.from([text]), client.query(from(`copy ${target} from stdin`))),
    release: () => client.release(failure ?? undefined),
  }
}
