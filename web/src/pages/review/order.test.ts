import { expect, test } from 'vitest'
import { dueWord, sharedBy, sharedWords } from './order.ts'

const NOW = Date.parse('2026-11-26T12:00:00Z')
const sla = (expires_at: string | null, expired = false) => ({ expires_at, expired }) as never
const row = (distribution: string, at: string | null) => ({ distribution, sla: sla(at) })

test.each([
  [null, false, ''],
  ['2026-11-26T11:00:00Z', true, 'overdue'],
  ['2026-11-26T20:00:00Z', false, 'today'],
  ['2026-12-25T20:00:00Z', false, '29 d'],
])('a deadline at %s (over: %s) is shown as "%s"', (at, expired, word) => {
  expect(dueWord(sla(at, expired), NOW)).toBe(word)
})

test.each([
  [[row('el9', '2026-12-25T20:00:00Z'), row('el9', '2026-12-25T21:00:00Z')], 'all in el9, all due in 29 d'],
  [[row('el9', '2026-12-25T20:00:00Z'), row('noble', '2026-12-25T21:00:00Z')], 'all due in 29 d'],
  [[row('el9', '2026-12-25T20:00:00Z'), row('el9', '2026-12-01T21:00:00Z')], 'all in el9'],
  [[row('el9', null), row('noble', null)], null],
  // A single row says everything itself.
  [[row('el9', '2026-12-25T20:00:00Z')], null],
])('what the rows of %j share is said once', (rows, words) => {
  expect(sharedWords(sharedBy(rows, NOW))).toBe(words)
})
