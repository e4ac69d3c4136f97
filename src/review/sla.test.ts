// How deadlines are shown.
import { expect, test } from 'vitest'
import type { DecisionRow } from '../store/tables.ts'
import { slaOf, slaOfRecord } from './sla.ts'

const now = new Date('2026-03-05T12:00:00Z')
const HOUR = 3_600_000
const inHours = (hours: number) => new Date(now.getTime() + hours * HOUR)

test.each<[number | null, string, number | null]>([
  [null, 'permanent', null],
  [24 * 30, 'active', 30],
  [24 * 7 + 1, 'active', 8],
  [24 * 7, 'expiring_soon', 7],
  [25, 'expiring_soon', 2],
  [24, 'expiring_soon', 1],
  [1, 'expiring_soon', 1],
  [0, 'expired', 0],
  [-1, 'expired', 0],
  [-24, 'expired', -1],
  [-25, 'expired', -1],
])('a deadline in %s hours is %s, with %s days left', (hours, status, days) => {
  const sla = slaOf(hours === null ? null : inHours(hours), now)
  expect(sla).toMatchObject({
    has_sla: hours !== null,
    status,
    expired: status === 'expired',
    warning: status === 'expiring_soon',
  })
  expect(Object.is(sla.remaining_days, days)).toBe(true)
  expect(sla.days_remaining).toBe(sla.remaining_days)
})

const exception = (hours: number | null) => ({ expires_at: hours === null ? null : inHours(hours) }) as DecisionRow

test.each<[string, 'pending_review' | 'published', number | null, DecisionRow[], string | null]>([
  ['a review with a deadline', 'pending_review', 48, [], '2026-03-07T12:00:00.000+00:00'],
  ['a review with a deadline and an exception', 'pending_review', 48, [exception(1)], '2026-03-07T12:00:00.000+00:00'],
  ['two exceptions', 'published', null, [exception(72), exception(48)], '2026-03-07T12:00:00.000+00:00'],
  [
    'an exception and a permanent decision',
    'published',
    null,
    [exception(null), exception(48)],
    '2026-03-07T12:00:00.000+00:00',
  ],
])('the deadline of %s', (_, status, hours, decisions, expected) => {
  const row = { status, review_due_at: hours === null ? null : inHours(hours) }
  expect(slaOfRecord(row, decisions, now)?.expires_at).toBe(expected)
})

test('a published record without decisions has no deadline, and one with a permanent decision a permanent one', () => {
  const row = { status: 'published' as const, review_due_at: null }
  expect(slaOfRecord(row, [], now)).toBeNull()
  expect(slaOfRecord(row, [exception(null)], now)).toMatchObject({ status: 'permanent' })
})
