// Leader election of two processes on one database, with a clock that the test moves.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { asDatabaseClock } from '../../store/database-clock.ts'
import type { Database } from '../../store/db.ts'
import { createLeader, LEASE_MS } from './leader.ts'

let database: Database
let ms = Date.parse('2026-03-01T12:00:00Z')
let offset: Record<string, number>
let dead: string[]
let faults: string[]

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => database.close())
beforeEach(async () => {
  dead = []
  offset = {}
  faults = []
  await database.db.deleteFrom('leases').execute()
})

const process = (instanceId: string) =>
  createLeader({
    ...{ db: database.db, instanceId, isDead: async (id) => dead.includes(id) },
    clock: { ...asDatabaseClock({ now: () => new Date(ms) }), offsetMs: () => offset[instanceId] ?? 0 },
    onFault: (fault) => faults.push(`${instanceId}: ${fault}`),
  })

test('one process leads until its lease runs out', async () => {
  const [first, second] = [process('first'), process('second')]
  await first.tick()
  await second.tick()
  expect([first.isLeader(), second.isLeader()]).toEqual([true, false])
  ms += LEASE_MS + 1
  expect([first.isLeader(), second.isLeader()]).toEqual([false, false])
  await second.tick()
  expect(second.isLeader()).toBe(true)
})

test('the lease of a process that is known to be dead is taken immediately', async () => {
  const [first, second] = [process('first'), process('second')]
  await first.tick()
  dead = ['first']
  await second.tick()
  expect(second.isLeader()).toBe(true)
})

test('a process that stalled longer than its lease leads on when it is asked, and the lease is long again', async () => {
  const [first, second] = [process('first'), process('second')]
  await first.tick()
  ms += 2 * LEASE_MS
  expect(await first.leads()).toBe(true)
  await second.tick()
  expect([first.isLeader(), second.isLeader()]).toEqual([true, false])
})

test('a process that stalled while another took the lease leads no more', async () => {
  const [first, second] = [process('first'), process('second')]
  await first.tick()
  ms += 2 * LEASE_MS
  await second.tick()
  expect(await first.leads()).toBe(false)
  expect(await second.leads()).toBe(true)
})

test('a process that never led, or resigned, does not lead because it is asked', async () => {
  const leader = process('first')
  expect(await leader.leads()).toBe(false)
  await leader.tick()
  await leader.resign()
  expect(await leader.leads()).toBe(false)
})

test('a process whose machine has a wrong clock takes no lease, gives its own up, and says so once', async () => {
  const [first, second] = [process('first'), process('second')]
  offset['second'] = 120_000
  await second.tick()
  expect(second.isLeader()).toBe(false)
  await first.tick()
  offset['first'] = -5_001
  for (let n = 0; n < 2; n++) await first.tick()
  expect(first.isLeader()).toBe(false)
  offset['second'] = 4_000
  await second.tick()
  expect(second.isLeader()).toBe(true)
  expect(faults).toEqual([
    "second: the clock of this machine is 120 s ahead of the database's",
    "first: the clock of this machine is 5 s behind the database's",
  ])
})

test('a process whose machine slept leads no more, before it asks the database for the time', async () => {
  const first = process('first')
  await first.tick()
  offset['first'] = 3 * LEASE_MS
  expect(first.isLeader()).toBe(false)
})

test('whether anybody leads is known to all', async () => {
  const [first, second] = [process('first'), process('second')]
  expect(await second.exists()).toBe(false)
  await first.tick()
  expect([await first.exists(), await second.exists()]).toEqual([true, true])
  ms += LEASE_MS + 1
  expect(await second.exists()).toBe(false)
})
