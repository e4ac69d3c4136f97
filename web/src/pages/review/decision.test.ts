import { expect, test } from 'vitest'
import { bodyOf, EMPTY_DRAFT } from './decision.ts'
import { choicesWith, daysOf, firstDay, suggestedEnding, wrongEnding, type Ending } from './ending.ts'

const NOW = Date.parse('2026-11-24T15:00:00Z')
const record = { name: 'curl', version: '1', arch: 'amd64', distribution: 'noble' }
const SHA256 = 'a'.repeat(64)
const scope = { findings: null, elsewhere: false, files: true }
const sent = (ending: Ending, action: 'accept_risk' | 'reject' = 'accept_risk') =>
  bodyOf(
    { record, action, scope, hasFiles: false, sha256: SHA256, draft: { ...EMPTY_DRAFT, reason: 'why', ending } },
    NOW,
  )

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
  ['all held files of the version', true, { distribution: 'pypi/team' }],
  ['the shown one only', false, { distribution: 'pypi/team', arch: 'sdist' }],
])('a decision about %s is sent so', (_, files, expected) => {
  const file = { ...record, arch: 'sdist', distribution: 'pypi/team' }
  const draft = { ...EMPTY_DRAFT, reason: 'why' }
  const whole = { record: file, action: 'reject', draft, hasFiles: true, sha256: SHA256 } as const
  expect(bodyOf({ ...whole, scope: { ...scope, files } }, NOW)).toEqual({
    ...{ action: 'reject', justification: 'why', sha256: SHA256 },
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
  ['no end by the settings', 0, false, null, null],
  ['no end by the settings, exploited', 0, true, 90, 'because it is known to be exploited'],
  ['a year by the settings', 365, false, 365, 'as the settings suggest'],
  ['a year by the settings, exploited', 365, true, 90, 'because it is known to be exploited'],
  ['a week by the settings, exploited', 7, true, 7, 'as the settings suggest'],
])('with %s the form suggests an end', (_, setting, exploited, days, why) => {
  const suggested = suggestedEnding(exploited, setting)
  expect(daysOf(suggested.ending, NOW)).toBe(days)
  expect(suggested.why).toBe(why && `${days} days, ${why}.`)
  expect(choicesWith(suggested.ending.choice)).toContain(suggested.ending.choice)
})

test('an end that is suggested is offered among the usual ones, in their order', () => {
  expect(choicesWith('45')).toEqual(['7', '30', '45', '90', '180', 'date', 'none'])
  expect(choicesWith('none')).toEqual(['7', '30', '90', '180', 'date', 'none'])
})

test('the first day that the field offers is one that can be sent', () => {
  expect(daysOf({ choice: 'date', day: firstDay(NOW) }, NOW)).toBe(2)
})
