// What a later check means for a record: a table of cases.
import { expect, test } from 'vitest'
import { finding } from '../packages/documents/fixture.ts'
import type { Finding } from '../domain/finding.ts'
import type { Settings } from '../domain/settings.ts'
import type { Coverage } from '../domain/status.ts'
import { assess, type Assessed, type Check } from './assess.ts'
import type { ActiveDecision } from '../domain/acceptance.ts'

const now = new Date('2026-03-05T00:00:00Z')
const before = (more: Partial<Assessed> = {}): Assessed => ({
  distribution: 'jammy',
  status: 'published',
  served: true,
  cve_results: [],
  cve_summary: { scanned: true },
  last_scan: new Date('2026-03-01T00:00:00Z'),
  pipeline: { antivirus: 'clean', cve_scan: 'no_findings' },
  validation_steps: [{ name: 'cve', passed: true }],
  coverage: {},
  held_reason: null,
  review_since: null,
  review_due_at: null,
  review_reasons: null,
  ...more,
})
const cve_policy = {
  critical: 'block',
  high: 'review',
  sla_critical_days: 0,
  sla_high_days: 7,
  sla_medium_days: 30,
} as unknown as Settings['cve_policy']
const policy = {
  cve_policy,
  validation: { on_unscanned: 'hold', on_uninstallable: 'hold', gpg_required: false },
} as const
const LOOKED_AT: Check['evidence'] = [
  { check: 'antivirus', result: 'clean', message: '' },
  { check: 'gpg', result: 'signed', message: '' },
]
const coverage = (files_seen = 1, database_date = '2026-03-04'): Coverage => ({
  engine: 'osv-components',
  engine_version: null,
  database_date,
  distro_matched: null,
  files_seen,
  files_skipped: [],
  bytes: 1,
})
const REMATCH: Check = { mechanism: 'rematch' }
const approved: ActiveDecision = { decision: 'approve', covers: [{ id: 'CVE-1', severity: 'High', in_kev: false }] }
const run = (record: Assessed, findings: Finding[], check = REMATCH, decisions: ActiveDecision[] = []) =>
  assess(record, findings, check, { decisions, policy, now })

test.each<[string, Parameters<typeof run>, string]>([
  ['nothing changed', [before(), []], 'touchScanDate'],
  ['the same findings came again', [before({ cve_results: [finding('CVE-1')] }), [finding('CVE-1')]], 'touchScanDate'],
  ['nothing changed, but the record was never scanned', [before({ last_scan: null }), []], 'change refresh'],
  ['nothing changed, but the record has no findings column yet', [before({ cve_results: null }), []], 'change refresh'],
  [
    'nothing changed, but a verdict replaces an old one',
    [before(), [], { ...REMATCH, evidence: [] }],
    'change refresh',
  ],
  [
    'the components were covered as before, with newer advisories',
    [
      before({ coverage: { dependency_scan: coverage(1, '2026-03-01') } }),
      [],
      { mechanism: 'dependency_scan', components: coverage() },
    ],
    'noop',
  ],
  [
    'the components were covered otherwise',
    [
      before({ coverage: { dependency_scan: coverage(1) } }),
      [],
      { mechanism: 'dependency_scan', components: coverage(2) },
    ],
    'change refresh',
  ],
  ['a finding that asks for review is new', [before(), [finding('CVE-1')]], 'change reopen'],
  ['a finding that the policy allows is new', [before(), [finding('CVE-1', { action: 'allow' })]], 'change refresh'],
  ['a finding is gone', [before({ cve_results: [finding('CVE-1')] }), []], 'change refresh'],
  ['a new finding is covered by a decision', [before(), [finding('CVE-1')], REMATCH, [approved]], 'change refresh'],
  [
    'a covered finding became worse',
    [before({ cve_results: [finding('CVE-1')] }), [finding('CVE-1', { severity: 'Critical' })], REMATCH, [approved]],
    'change reopen',
  ],
  [
    'a known finding became known to be exploited',
    [before({ cve_results: [finding('CVE-1')] }), [finding('CVE-1', { in_kev: true })]],
    'change reopen',
  ],
  [
    'a held record has a new finding',
    [before({ status: 'pending_review', review_since: now }), [finding('CVE-1')]],
    'change refresh',
  ],
  [
    'a quarantined record has no cause left',
    [before({ status: 'quarantined' }), [], { mechanism: 'rescan', evidence: LOOKED_AT }],
    'change clear',
  ],
  [
    'nothing is wrong with a published record',
    [before(), [], { mechanism: 'rescan', evidence: LOOKED_AT }],
    'change refresh',
  ],
  ['a rejected record has a new finding', [before({ status: 'rejected' }), [finding('CVE-1')]], 'change refresh'],
])('%s', (_, call, expected) => {
  const result = run(...call)
  expect(result.kind === 'change' ? `change ${result.event}` : result.kind).toBe(expected)
})

test('new and dropped findings are listed', () => {
  const known = [finding('CVE-1'), finding('CVE-2')]
  expect(run(before({ cve_results: known }), [finding('CVE-2'), finding('CVE-3')])).toMatchObject({
    newIds: ['CVE-3'],
    droppedIds: ['CVE-1'],
  })
})

test('a reopened record is due as its new finding says, and names the mechanism', () => {
  expect(run(before(), [finding('CVE-1')])).toMatchObject({
    set: {
      cve_status: 'pending_review',
      held_reason: 'rematch',
      review_due_at: new Date('2026-03-12T00:00:00Z'),
    },
    review: { review_origin: 'rematch', review_since: now, overdue_noted_at: null },
  })
})

test.each<[string, Date | null, string]>([
  ['brings a deadline', null, '2026-03-12T00:00:00.000Z'],
  ['makes a later deadline earlier', new Date('2026-04-01T00:00:00Z'), '2026-03-12T00:00:00.000Z'],
  ['leaves an earlier deadline', new Date('2026-03-06T00:00:00Z'), '2026-03-06T00:00:00.000Z'],
])('a new finding of a held record %s', (_, due, expected) => {
  const held = before({ status: 'pending_review', held_reason: 'unscanned', review_since: now, review_due_at: due })
  const result = run(held, [finding('CVE-1')])
  expect(result).toMatchObject({ set: { held_reason: 'cve_review', review_due_at: new Date(expected) } })
})

test('a new verdict replaces the old one in pipeline, steps and coverage, and leaves the others', () => {
  const result = run(before(), [], {
    mechanism: 'rescan',
    evidence: [{ check: 'cve_scan', result: 'no_data', message: 'why', coverage: coverage() }],
  })
  const set = result.kind === 'change' ? result.set : {}
  expect(JSON.parse(set.pipeline as string)).toEqual({ antivirus: 'clean', cve_scan: 'no_data' })
  expect(JSON.parse(set.validation_steps as string)).toMatchObject([{ name: 'cve', passed: false, message: 'why' }])
  expect(JSON.parse(set.coverage as string)).toEqual({ cve_scan: coverage() })
})

test.each([
  [true, true],
  [false, false],
])('matching the components keeps whether the package itself was scanned: %s', (scanned, expected) => {
  const result = run(before({ cve_summary: { scanned } }), [finding('CVE-1')], {
    mechanism: 'dependency_scan',
    components: coverage(),
  })
  const set = result.kind === 'change' ? result.set : {}
  expect(JSON.parse(set.cve_summary as string)).toMatchObject({ scanned: expected, components_scanned: true, high: 1 })
})
