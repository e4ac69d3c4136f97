import { expect, test } from 'vitest'
import { finding } from '../packages/documents/fixture.ts'
import { difference, inOrderOfUrgency, previousOf } from './weigh.ts'

test('findings that hold a package come first, then known exploited ones, then by EPSS, CVSS, severity and id', () => {
  const allowed = { action: 'allow', epss: null, cvss: null } as const
  const findings = [
    finding('severe', { ...allowed, severity: 'Critical' }),
    finding('b', { ...allowed, severity: 'Low' }),
    finding('a', { ...allowed, severity: 'Low' }),
    finding('scored', { ...allowed, cvss: 5 }),
    finding('likely', { ...allowed, epss: 0.5 }),
    finding('exploited', { ...allowed, in_kev: true }),
    finding('accepted', { epss: 0.9, accepted_by_decision: true }),
    finding('holds', { epss: 0.1, severity: 'Low' }),
    finding('holds and is exploited', { epss: null, in_kev: true, severity: 'Low' }),
  ]
  expect(inOrderOfUrgency(findings).map(({ id }) => id)).toEqual([
    'holds and is exploited',
    'holds',
    'exploited',
    'accepted',
    'likely',
    'scored',
    'severe',
    'a',
    'b',
  ])
})

test('a difference names what is gone, the worst first, and counts the rest', () => {
  const before = [finding('low', { severity: 'Low' }), finding('stays'), finding('high')]
  const now = [finding('stays'), finding('new'), finding('newer')]
  const { added, same, gone } = difference(before, now)
  expect([added, same, gone.map(({ id }) => id)]).toEqual([2, 1, ['high', 'low']])
})

test.each([
  ['2', ['1', '3'], '1'],
  ['2', ['3', '4'], '4'],
  ['3', ['1', '2', '3'], '2'],
  ['1', ['1'], null],
  ['1', [], null],
])('before %s of %j comes %s', (version, versions, expected) => {
  const others = versions.map((one) => ({ version: one }))
  expect(previousOf(version, others, (a, b) => Number(a) - Number(b))?.version ?? null).toBe(expected)
})
