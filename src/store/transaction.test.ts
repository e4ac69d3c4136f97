// Transactions that PostgreSQL ends because of others. Runs on PGlite, and on PostgreSQL where TEST_DATABASE_URL names a server.
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Database } from './db.ts'
import { transaction } from './transaction.ts'

let database: Database
beforeAll(async () => {
  database = await createTestDatabase()
  await sql`create table tried (i int)`.execute(database.db)
})
beforeEach(() => sql`truncate tried`.execute(database.db))
afterAll(() => database.close())

/** A transaction that inserts the number of the try. Its first `failing` tries end with this SQLSTATE. */
async function tries(sqlstate: string, failing: number): Promise<{ outcome: string; tries: number; rows: number[] }> {
  let n = 0
  const outcome = await transaction(database.db, async (tx) => {
    n++
    await sql`insert into tried values (${n})`.execute(tx)
    if (n <= failing)
      await sql`do ${sql.lit(`begin raise exception 'as planned' using errcode = '${sqlstate}'; end`)}`.execute(tx)
    return 'committed'
  }).catch((error: unknown) => String((error as { code?: unknown }).code))
  const { rows } = await sql<{ i: number }>`select i from tried`.execute(database.db)
  return { outcome, tries: n, rows: rows.map(({ i }) => i) }
}

test.each([
  ['40P01', 0, { outcome: 'committed', tries: 1, rows: [1] }],
  ['40P01', 1, { outcome: 'committed', tries: 2, rows: [2] }],
  ['40001', 2, { outcome: 'committed', tries: 3, rows: [3] }],
  ['40P01', 3, { outcome: 'database_busy', tries: 3, rows: [] }],
  // A slow statement or a taken name: another try would fail the same way.
  ['57014', 1, { outcome: '57014', tries: 1, rows: [] }],
  ['23505', 1, { outcome: '23505', tries: 1, rows: [] }],
])('a transaction that ends with %s in its first %i tries', async (sqlstate, failing, expected) => {
  expect(await tries(sqlstate, failing)).toEqual(expected)
})
