// Leader election of two processes on one database, with a clock that the test moves.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Database } from '../store/db.ts'
import { createLeader, LEASE_MS } from './leader.ts'

let database: Database
let ms = Date.parse('2026-03-01T12:00:00Z')
const clock = { now: () => new Date(ms) }
let dead: string[]

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => database.close())
beforeEach(async () => {
  dead = []
  await database.db.deleteFrom('leases').execute()
})

const process = (instanceId: string) =>
  createLeader({ db: database.db, clock, instanceId, isDead: async (id) => dead.includes(id) })

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
