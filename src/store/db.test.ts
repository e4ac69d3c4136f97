// Migrations, and the limit of a statement. Runs on PGlite, and on PostgreSQL where TEST_DATABASE_URL names a server.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { migrate, openDatabase, schemaVersion } from './db.ts'
import { MIGRATIONS } from './migrations/index.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

test('migrations started by three processes at the same time run once', async () => {
  await Promise.all([migrate(database.db), migrate(database.db), migrate(database.db)])
  expect(await schemaVersion(database.db)).toBe(Object.keys(MIGRATIONS).at(-1))
})

// A machine that stalls stops the short statements too.
test(
  'a statement over the limit is stopped and undone, and the connection works afterwards',
  { retry: 4 },
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'gatehouse-db-'))
    const url = database.engine === 'postgres' ? database.url : `pglite://${directory}`
    // One connection: what follows uses the one whose statement was stopped.
    const { db, close } = await openDatabase(url, { poolSize: 1, longestStatementMs: 5_000 })
    const pid = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid
    try {
      await sql`drop table if exists limited`.execute(db)
      await sql`create table limited (i int)`.execute(db)
      const before = await pid()
      const long = db.transaction().execute(async (tx) => {
        await sql`insert into limited values (1)`.execute(tx)
        await sql`select count(*) from generate_series(1, 1000000000)`.execute(tx)
      })
      await expect(long).rejects.toThrow(/statement timeout|took longer than 5 s/)
      expect((await sql`select i from limited`.execute(db)).rows).toEqual([])
      expect(await pid()).toBe(before)
    } finally {
      await close()
      await rm(directory, { recursive: true })
    }
  },
)
