// When a process is started again, as a table.
import { expect, test } from 'vitest'
import { afterEnd, STABLE_MS } from './restarts.ts'

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
  expect(afterEnd(RULES, failures, ranMs)).toEqual(expected)
})

test('a process without a limit is started again forever', () => {
  expect(afterEnd({ ...RULES, giveUpAt: null }, 1_000_000, 5)).toEqual({ failures: 1_000_001, pauseMs: 1_000 })
})
