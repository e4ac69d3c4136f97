// The clock of the database: early and late answers, and a machine whose clock is set.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { askDatabase, clockFault, createDatabaseClock } from './database-clock.ts'
import type { Database } from './db.ts'

let database: Database
beforeAll(async () => void (database = await createTestDatabase()))
afterAll(async () => database.close())

const START = Date.parse('2026-03-01T12:00:00Z')

/** A machine that is `aheadMs` ahead of the database. Requests and answers take the given times. */
async function machine(aheadMs: number) {
  let passed = 0
  let way: [number, number] = [0, 0]
  let set = 0
  const clock = await createDatabaseClock({
    async ask() {
      passed += way[0]
      const told = START + passed
      passed += way[1]
      return told
    },
    steady: () => passed,
    machine: () => START + passed + aheadMs + set,
  })
  return {
    clock,
    error: () => clock.now().getTime() - (START + passed),
    pass: (ms: number) => void (passed += ms),
    set: (ms: number) => void (set += ms),
    answerIn: (there: number, back: number) => void (way = [there, back]),
  }
}

test('the clock gives the time of the database, and by how much the machine is off', async () => {
  const { clock, error, pass } = await machine(120_000)
  pass(7_000)
  expect([error(), clock.offsetMs()]).toEqual([0, 120_000])
  expect(clockFault(clock)).toBe("the clock of this machine is 120 s ahead of the database's")
  expect(clockFault((await machine(-9_000)).clock)).toBe("the clock of this machine is 9 s behind the database's")
  expect(clockFault((await machine(4_900)).clock)).toBeNull()
})

test('an answer that takes long, on either way, moves nothing', async () => {
  const { clock, error, answerIn } = await machine(0)
  const ways: [number, number][] = [
    [8_000, 0],
    [0, 8_000],
    [20_000, 1],
  ]
  for (const way of ways) {
    answerIn(...way)
    await clock.measure()
    expect(error()).toBe(0)
  }
})

test('a machine whose clock is set is off from then on, and tells the same time', async () => {
  const { clock, error, set } = await machine(0)
  set(-3_600_000)
  expect([error(), clock.offsetMs()]).toEqual([0, -3_600_000])
})

test('a machine that slept follows the database again at the next measurement', async () => {
  let [steady, told] = [0, START]
  const clock = await createDatabaseClock({ ask: async () => told, steady: () => steady, machine: () => told })
  told += 60_000
  steady += 1
  expect(clock.offsetMs()).toBe(59_999)
  await clock.measure()
  expect(clock.offsetMs()).toBe(0)
})

test('a real database tells its time', async () => {
  const before = Date.now()
  const told = await askDatabase(database.db)
  expect(told).toBeGreaterThan(before - 1000)
  expect(told).toBeLessThan(Date.now() + 1000)
})
