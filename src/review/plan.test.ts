// Which decision bodies are accepted, and what they mean.
import { expect, test } from 'vitest'
import { readPlan, type DecisionBody, type Plan } from './plan.ts'

const body = (more: Partial<DecisionBody>): DecisionBody => ({ justification: 'because', ...more })

test.each<[Partial<DecisionBody>, Partial<Plan>]>([
  [{ decision: 'approve' }, { decision: 'approve', action: 'accept_risk', expiresInDays: null }],
  [
    { decision: 'approve', expires_in_days: 1 },
    { action: 'exception', expiresInDays: 1 },
  ],
  [
    { decision: 'approve', expires_in_days: 3650 },
    { action: 'exception', expiresInDays: 3650 },
  ],
  [{ decision: 'reject' }, { decision: 'reject', action: 'reject' }],
  [
    { action: 'exception', expires_in_days: 30 },
    { decision: 'approve', action: 'exception' },
  ],
  [{ action: 'upgrade_required' }, { decision: null, action: 'upgrade_required' }],
  [{ action: 'upgrade_required', target_version: ' 2.0 ' }, { targetVersion: '2.0' }],
  [{ decision: 'approve', action: 'accept_risk' }, { action: 'accept_risk' }],
  [{ decision: 'approve', cve_ids: ['CVE-1', 'CVE-1'] }, { cveIds: ['CVE-1'] }],
  [{ decision: 'approve', target_version: '  ' }, { targetVersion: null }],
  [{ decision: 'approve', justification: '  trimmed ' }, { justification: 'trimmed' }],
  [{ decision: 'approve', justification: 'x'.repeat(2000) }, { action: 'accept_risk' }],
  [{ decision: 'approve', justification: '見た' }, { justification: '見た' }],
  [{ decision: 'approve', justification: '7' }, { justification: '7' }],
])('%o is accepted', (asked, expected) => {
  expect(readPlan(body(asked))).toMatchObject(expected)
})

test.each<[string, Partial<DecisionBody>]>([
  ['justification', { decision: 'approve', justification: '   ' }],
  ['justification', { decision: 'approve', justification: 'x'.repeat(2001) }],
  ['justification', { decision: 'approve', justification: '\u200b' }],
  ['justification', { decision: 'reject', justification: ' \u00ad\u2060 … ' }],
  ['decision', {}],
  ['expires_in_days', { decision: 'approve', expires_in_days: 0 }],
  ['expires_in_days', { decision: 'approve', expires_in_days: 3651 }],
  ['expires_in_days', { decision: 'approve', expires_in_days: 1.5 }],
  ['expires_in_days', { decision: 'reject', expires_in_days: 7 }],
  ['expires_in_days', { action: 'accept_risk', expires_in_days: 7 }],
  ['expires_in_days', { action: 'exception' }],
  ['action', { decision: 'approve', action: 'reject' }],
  ['action', { decision: 'reject', action: 'upgrade_required' }],
  ['action', { action: 'ignore' as never }],
  ['target_version', { decision: 'reject', target_version: '2.0' }],
])('the field %s is refused in %o', (field, asked) => {
  expect(() => readPlan(body(asked))).toThrow(
    expect.objectContaining({
      code: 'validation_error',
      extra: { errors: [expect.objectContaining({ field }) as unknown] },
    }),
  )
})
