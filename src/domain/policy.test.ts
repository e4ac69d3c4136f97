import { expect, test } from 'vitest'
import { actionFor, worstAction } from './policy.ts'
import type { PolicyAction, Severity } from './finding.ts'

const POLICY = { critical: 'block', high: 'review', medium: 'warn', low: 'allow', negligible: 'allow' } as const

test.each<[Severity, PolicyAction]>([
  ['Critical', 'block'],
  ['High', 'review'],
  ['Medium', 'warn'],
  ['Low', 'allow'],
  ['Negligible', 'allow'],
  ['Unknown', 'allow'],
])('a %s finding means %s by default', (severity, action) => {
  expect(actionFor(POLICY, severity)).toBe(action)
})

test('unknown severity follows the policy when it has a key for it; severities without a key are allowed', () => {
  expect(actionFor({ ...POLICY, unknown: 'review' }, 'Unknown')).toBe('review')
  expect(actionFor({ ...POLICY, unknown: null }, 'Unknown')).toBe('allow')
  expect(actionFor({}, 'Critical')).toBe('allow')
})

test.each<[PolicyAction[], PolicyAction]>([
  [[], 'allow'],
  [['allow', 'allow'], 'allow'],
  [['allow', 'warn', 'allow'], 'warn'],
  [['warn', 'review', 'allow'], 'review'],
  [['review', 'block', 'warn'], 'block'],
  [['block', 'allow'], 'block'],
])('the worst action of %j is %s', (actions, worst) => {
  expect(worstAction(actions.map((action) => ({ action })))).toBe(worst)
})
