// Samples of the pool. Runs on PGlite, and on PostgreSQL where TEST_DATABASE_URL names a server.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { insertRecord } from '../../packages/documents/fixture.ts'
import type { Database, Db } from '../../store/db.ts'
import { createPoolGrowth } from './pool-growth.ts'

let database: Database
let db: Db
let now = new Date('2026-03-10T12:00:00Z')
const growth = () => createPoolGrowth({ db, clock: { now: () => now } })
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
  await insertRecord(db, { name: 'one' })
})
afterAll(() => database.close())

const holds = (published_count: number, size_bytes: number) =>
  db.updateTable('distributions').set({ published_count, pending_count: 0, size_bytes }).execute()

const finds = (severity: string, n: number) =>
  db
    .insertInto('finding_counts')
    .values({ distribution: 'jammy', status: 'published', severity, fix_state: 'fixed', n } as never)
    .execute()
const found = (some: object) => ({ critical: 0, high: 0, medium: 0, low: 0, negligible: 0, unknown: 0, ...some })

test('the last sample of a day counts, and today is what the pool holds now', async () => {
  await holds(1, 100)
  await growth().sample()
  await holds(2, 300)
  await finds('High', 2)
  await growth().sample()
  now = new Date('2026-03-12T00:30:00Z')
  await holds(5, 6_000_000_000_000)
  await finds('Low', 1)
  expect([...(await growth().since('2026-03-01'))]).toEqual([
    ['2026-03-10', { packages: 2, bytes: 300, findings: found({ high: 2 }) }],
    ['2026-03-12', { packages: 5, bytes: 6_000_000_000_000, findings: found({ high: 2, low: 1 }) }],
  ])
  expect([...(await growth().since('2026-03-11')).keys()]).toEqual(['2026-03-12'])
})

test('days older than anybody may ask for are deleted', async () => {
  now = new Date('2027-04-14T12:00:00Z')
  await growth().sample()
  const kept = async () =>
    (await db.selectFrom('pool_days').select('day').orderBy('day').execute()).map(({ day }) => day)
  expect(await kept()).toEqual(['2026-03-10', '2027-04-14'])
  now = new Date('2027-04-15T12:00:00Z')
  await growth().sample()
  expect(await kept()).toEqual(['2027-04-14', '2027-04-15'])
})
