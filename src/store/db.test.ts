// Migrations, and the limit of a statement. Runs on PGlite, and on PostgreSQL where TEST_DATABASE_URL names a server.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { DatabaseAway, DatabaseBusy, NewerDatabase } from './database-away.ts'
import { migrate, openDatabase, schemaVersion, type Db } from './db.ts'
import { MIGRATIONS } from './migrations/index.ts'

function gate(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void
  return { promise: new Promise<void>((done) => (resolve = done)), resolve }
}

let database: Awaited<ReturnType<typeof createTestDatabase>>
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

test('migrations started by three processes at the same time run once', async () => {
  await Promise.all([migrate(database.db), migrate(database.db), migrate(database.db)])
  expect(await schemaVersion(database.db)).toBe(Object.keys(MIGRATIONS).at(-1))
})

const insertRun = (db: Db, name: string) =>
  sql`insert into kysely_migration values (${name}, '2027-01-01T00:00:00.000Z')`.execute(db)

test.each([
  ['9998-more', ['9998-more', '9999-even-more'], null],
  [
    '9998-columns-takes-away',
    null,
    /^the database belongs to a newer build: it has the migration 9998-columns-takes-away/,
  ],
  ['0001-another-line', null, /it has the migration 0001-another-line, which this build, whose last one is/],
])('a database that a newer build migrated to %s: later ones are %o', async (name, later, refusal) => {
  const newer = await createTestDatabase()
  try {
    await insertRun(newer.db, name)
    await insertRun(newer.db, '9999-even-more')
    if (later) expect(await migrate(newer.db)).toEqual(later)
    else await expect(migrate(newer.db)).rejects.toThrow(refusal)
  } finally {
    await newer.close()
  }
})

test('a database of a newer build that lacks a migration of this one is refused', async () => {
  const newer = await createTestDatabase()
  try {
    await insertRun(newer.db, '9999-more')
    const last = Object.keys(MIGRATIONS).at(-1)
    await sql`delete from kysely_migration where name = ${last}`.execute(newer.db)
    await expect(migrate(newer.db)).rejects.toThrow(NewerDatabase)
  } finally {
    await newer.close()
  }
})

// Short statements take seconds on a busy machine, and must not be stopped.
test('a statement over the limit is stopped and undone, and the connection works afterwards', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-db-'))
  const url = database.engine === 'postgres' ? database.url : `pglite://${directory}`
  // One connection, so that later statements use the one whose statement was stopped.
  const { db, close } = await openDatabase(url, { poolSize: 1, longestStatementMs: 10_000 })
  const pid = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid
  try {
    await sql`drop table if exists limited`.execute(db)
    await sql`create table limited (i int)`.execute(db)
    const before = await pid()
    const long = db.transaction().execute(async (tx) => {
      await sql`insert into limited values (1)`.execute(tx)
      await sql`select count(*) from generate_series(1, 1000000000)`.execute(tx)
    })
    await expect(long).rejects.toThrow(/statement timeout|took longer than 10 s/)
    expect((await sql`select i from limited`.execute(db)).rows).toEqual([])
    expect(await pid()).toBe(before)
  } finally {
    await close()
    await rm(directory, { recursive: true })
  }
})

// The embedded database has one session, so nothing can wait for another one.
describe.runIf(process.env['TEST_DATABASE_URL'])('on PostgreSQL', () => {
  async function withTable(options: Parameters<typeof openDatabase>[1], work: (db: Db) => Promise<void>) {
    const { db, close } = await openDatabase(database.url, options)
    try {
      await sql`create table locked as select 1 as i`.execute(db)
      await work(db)
    } finally {
      await close()
      await sql`drop table locked`.execute(database.db)
    }
  }
  const change = (db: Db) => sql`update locked set i = i + 1`.execute(db)

  test('a transaction that pauses for too long loses its locks, and is an outage to its caller', () =>
    withTable({ longestPauseMs: 300 }, async (db) => {
      const locked = gate()
      const othersDone = gate()
      const frozen = db.transaction().execute(async (tx) => {
        await change(tx)
        locked.resolve()
        await othersDone.promise
        await change(tx)
      })
      await locked.promise
      await change(db)
      othersDone.resolve()
      await expect(frozen).rejects.toThrow(DatabaseAway)
      await change(db)
      expect((await sql`select i from locked`.execute(db)).rows).toEqual([{ i: 3 }])
    }))

  test('a lock that is not had in time is told as such', () =>
    withTable({ longestLockWaitMs: 300 }, async (db) => {
      const [held, release] = [gate(), gate()]
      const holder = database.db.transaction().execute(async (tx) => {
        await change(tx)
        held.resolve()
        await release.promise
      })
      await held.promise
      await expect(change(db)).rejects.toThrow(DatabaseBusy)
      release.resolve()
      await holder
      await change(db)
    }))

  test('migrations wait for locks without that limit, which holds again after them', () =>
    withTable({ poolSize: 1, longestLockWaitMs: 300 }, async (db) => {
      const { adapter } = db.getExecutor()
      const limits = await db.connection().execute(async (session) => {
        const limit = async () => (await sql<{ lock_timeout: string }>`show lock_timeout`.execute(session)).rows[0]
        await adapter.acquireMigrationLock(session, { lockTable: '', lockRowId: '' })
        const during = await limit()
        await adapter.releaseMigrationLock(session, { lockTable: '', lockRowId: '' })
        return [during, await limit()]
      })
      expect(limits).toEqual([{ lock_timeout: '0' }, { lock_timeout: '300ms' }])
    }))
})
