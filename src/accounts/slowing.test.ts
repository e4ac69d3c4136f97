import { expect, test } from 'vitest'
import { createSlowing } from './slowing.ts'

function slow(options: { capacity?: number } = {}) {
  let now = 0
  const waits: number[] = []
  const slowing = createSlowing({
    clock: { now: () => new Date(now) },
    wait: async (ms, signal) => {
      signal?.throwIfAborted()
      waits.push(ms)
    },
    ...options,
  })
  return {
    ...slowing,
    pass: (ms: number) => void (now += ms),
    /** milliseconds that each of so many tries had to wait, 0 for none */
    async tries(key: string, count: number) {
      const seen: number[] = []
      for (let i = 0; i < count; i++) {
        const before = waits.length
        await slowing.attempt(key)
        seen.push(waits[before] ?? 0)
      }
      return seen
    },
  }
}

test('failed attempts for a key wait longer each time, up to eight seconds', async () => {
  const slowing = slow()
  expect(await slowing.tries('a', 12)).toEqual([0, 0, 0, 0, 0, 500, 1000, 2000, 4000, 8000, 8000, 8000])
  expect(await slowing.tries('b', 5)).toEqual([0, 0, 0, 0, 0])
})

test('failures are forgotten after a success or after 15 minutes', async () => {
  const slowing = slow()
  await slowing.tries('a', 7)
  slowing.succeeded('a')
  expect(await slowing.tries('a', 6)).toEqual([0, 0, 0, 0, 0, 500])
  slowing.pass(15 * 60_000 - 1)
  expect(await slowing.tries('a', 1)).toEqual([1000])
  slowing.pass(15 * 60_000)
  expect(await slowing.tries('a', 1)).toEqual([0])
})

test('parallel attempts are all counted', async () => {
  let waited = 0
  const slowing = createSlowing({ clock: { now: () => new Date(0) }, wait: async (ms) => void (waited += ms) })
  await Promise.all(Array.from({ length: 8 }, () => slowing.attempt('a')))
  expect(waited).toBe(500 + 1000 + 2000)
})

test('an attempt that is aborted while it waits is counted', async () => {
  const slowing = slow()
  await slowing.tries('a', 5)
  await expect(slowing.attempt('a', AbortSignal.abort())).rejects.toMatchObject({ code: 'unauthorized' })
  expect(await slowing.tries('a', 1)).toEqual([1000])
})

test('the least recently used key is dropped beyond the capacity', async () => {
  const slowing = slow({ capacity: 2 })
  await slowing.tries('a', 5)
  await slowing.tries('b', 5)
  await slowing.tries('a', 1)
  await slowing.tries('c', 1)
  expect(await slowing.tries('a', 1)).toEqual([1000])
  expect(await slowing.tries('b', 1)).toEqual([0])
})
