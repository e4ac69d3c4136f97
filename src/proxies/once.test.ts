// Work that all replicas share: one does it, the others wait for its end, and a dead one holds nobody for long.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createOnce } from './once.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let now = Date.parse('2026-03-01T00:00:00Z')
const clock = { now: () => new Date(now) }
/** another turn of the loop in place of the time between two looks */
const wait = () => new Promise<void>((resolve) => setImmediate(resolve))
const replica = () => createOnce({ db: database.db, clock, wait })

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

/** Work that counts its runs, and is done after the first that succeeds. */
function counted(fails = false) {
  const state = { runs: 0, isDone: false }
  const work = async () => {
    state.runs++
    await wait()
    if (fails) throw new Error('it failed')
    state.isDone = true
  }
  return { state, work, isDone: async () => state.isDone }
}

test('callers of two replicas share one run', async () => {
  const { state, work, isDone } = counted()
  const replicas = [replica(), replica()]
  await Promise.all(Array.from({ length: 40 }, (_, i) => replicas[i % 2]!.run('shared', isDone, work)))
  expect(state).toEqual({ runs: 1, isDone: true })
})

test('a failure reaches those who waited here, and the next caller tries again', async () => {
  const once = replica()
  const failing = counted(true)
  const ends = await Promise.allSettled([1, 2].map(() => once.run('failing', failing.isDone, failing.work)))
  expect([ends.map(({ status }) => status), failing.state.runs]).toEqual([['rejected', 'rejected'], 1])
  const { state, work, isDone } = counted()
  await once.run('failing', isDone, work)
  expect(state.runs).toBe(1)
})

test('what a dead replica held is done by the next', async () => {
  const held = { key: 'held', holder: 'dead', until: new Date(now + 30_000) }
  await database.db.insertInto('upstream_fetches').values(held).execute()
  const { state, work, isDone } = counted()
  const end = replica().run('held', isDone, work)
  now += 31_000
  await end
  expect(state.runs).toBe(1)
})
