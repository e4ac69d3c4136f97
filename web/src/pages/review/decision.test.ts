import { expect, test } from 'vitest'
import { bodyOf, EMPTY_DRAFT } from './decision.ts'
import { daysOf, firstDay, safeEnding, wrongEnding, type Ending } from './ending.ts'

const NOW = Date.parse('2026-11-24T15:00:00Z')
const record = { name: 'curl', version: '1', arch: 'amd64', distribution: 'noble' }
const SHA256 = 'a'.repeat(64)
const scope = { findings: null, elsewhere: false }
const sent = (ending: Ending, action: 'accept_risk' | 'reject' = 'accept_risk') =>
  bodyOf({ record, action, scope, sha256: SHA256, draft: { ...EMPTY_DRAFT, reason: 'why', ending } }, NOW)

test.each([
  ['none', '', { action: 'accept_risk' }],
  ['7', '', { action: 'exception', expires_in_days: 7 }],
  ['180', '2020-01-01', { action: 'exception', expires_in_days: 180 }],
  ['date', '2026-11-25', { action: 'exception', expires_in_days: 2 }],
  ['date', '2026-12-24', { action: 'exception', expires_in_days: 31 }],
] as const)('an approval that ends by %s %s is sent with that end', (choice, day, expected) => {
  expect(sent({ choice, day })).toEqual({
    justification: 'why',
    distribution: 'noble',
    arch: 'amd64',
    sha256: SHA256,
    ...expected,
  })
})

test.each([
  ['', 'Choose the last day'],
  ['2020-01-01', 'not in the future'],
  ['2026-11-24', 'not in the future'],
  ['9999-12-31', 'at most ten years'],
])('an approval with the last day "%s" is not sent, and the form says why', (day, why) => {
  expect(sent({ choice: 'date', day })).toBeNull()
  expect(wrongEnding({ choice: 'date', day }, NOW)).toContain(why)
})

test('a rejection has no end, whatever was chosen for an approval before', () => {
  expect(sent({ choice: 'date', day: '' }, 'reject')).toEqual({
    ...{ action: 'reject', justification: 'why', distribution: 'noble', arch: 'amd64', sha256: SHA256 },
  })
})

test.each([
  [true, 90],
  [false, null],
])(
  'an approval of what is known exploited (%s) ends after %s days unless the person chooses otherwise',
  (exploited, days) => {
    expect(daysOf(safeEnding(exploited), NOW)).toBe(days)
  },
)

test('the first day that the field offers is one that can be sent', () => {
  expect(daysOf({ choice: 'date', day: firstDay(NOW) }, NOW)).toBe(2)
})
