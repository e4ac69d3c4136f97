// When a process is started again, as a table.
import { expect, test } from 'vitest'
import { afterEnd, STABLE_MS, WAITS } from './restarts.ts'

const RULES = { firstPauseMs: 100, longestPauseMs: 1_000, giveUpAt: 6 }

test.each([
  ['the first end', 0, 5, { failures: 1, pauseMs: 100 }],
  ['the second in a row', 1, 5, { failures: 2, pauseMs: 200 }],
  ['the fourth in a row', 3, STABLE_MS - 1, { failures: 4, pauseMs: 800 }],
  ['a long row', 4, 5, { failures: 5, pauseMs: 1_000 }],
  ['the last one that is allowed', 5, 5, { failures: 6, pauseMs: null }],
  ['an end before it was ready', 2, NaN, { failures: 3, pauseMs: 400 }],
  ['the end after a stable run', 5, STABLE_MS, { failures: 1, pauseMs: 100 }],
])('after %s (%i before it, ran %i ms) comes %o', (_, failures, ranMs, expected) => {
  expect(afterEnd(RULES, { failures, waits: 3 }, { code: 1, ranMs })).toEqual({ ...expected, waits: 0 })
})

test('a process without a limit is started again forever', () => {
  const row = { failures: 1_000_000, waits: 0 }
  expect(afterEnd({ ...RULES, giveUpAt: null }, row, { code: 1, ranMs: 5 })).toEqual({
    ...{ failures: 1_000_001, waits: 0, pauseMs: 1_000 },
  })
})

test.each([
  [0, 100],
  [3, 800],
  [100_000, 5_000],
])('a process that waits, after %i waits, is tried again after %i ms, and that is no failure', (waits, pauseMs) => {
  const row = { failures: 5, waits }
  expect(afterEnd(RULES, row, { code: WAITS, ranMs: NaN })).toEqual({ failures: 5, waits: waits + 1, pauseMs })
})
