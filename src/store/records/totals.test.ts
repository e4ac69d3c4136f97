import { expect, test } from 'vitest'
import { createTotals } from './totals.ts'

function make(ttlSeconds = 30) {
  let time = 0
  const totals = createTotals({ clock: { now: () => new Date(time) }, ttlSeconds })
  return { totals, advance: (seconds: number) => void (time += seconds * 1000) }
}
const five = async () => 5
const six = async () => 6

test('a total is counted once within its lifetime, separately for each filter', async () => {
  const { totals, advance } = make()
  expect(await totals.of('a', five)).toBe(5)
  advance(29)
  expect(await totals.of('a', six)).toBe(5)
  expect(await totals.of('b', six)).toBe(6)
  advance(2)
  expect(await totals.of('a', six)).toBe(6)
})

test('forget drops cached totals and those being counted', async () => {
  const { totals } = make()
  await totals.of('a', five)
  totals.forget()
  expect(await totals.of('a', six)).toBe(6)
  let finish!: (total: number) => void
  const counting = totals.of('b', () => new Promise((resolve) => (finish = resolve)))
  totals.forget()
  finish(5)
  expect(await counting).toBe(5)
  expect(await totals.of('b', six)).toBe(6)
})

test('a lifetime of 0 caches nothing', async () => {
  const { totals } = make(0)
  await totals.of('a', five)
  expect(await totals.of('a', six)).toBe(6)
})
