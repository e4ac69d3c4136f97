// Which findings a decision covers, and which ones a person has to be asked about again.
import { expect, test } from 'vitest'
import { finding } from '../packages/documents/fixture.ts'
import { coverOf, isCovered, reasonsToAsk, withAcceptance, type ActiveDecision } from './acceptance.ts'

const high = finding('CVE-1')
const critical = finding('CVE-1', { severity: 'Critical' })
const exploited = finding('CVE-1', { in_kev: true })
const approve = (...findings: (typeof high)[]): ActiveDecision => ({
  decision: 'approve',
  covers: findings.map(coverOf),
})

test.each<[string, typeof high, ActiveDecision[], boolean]>([
  ['nobody decided', high, [], false],
  ['an approval names it', high, [approve(high)], true],
  ['an approval names another', high, [approve(finding('CVE-2'))], false],
  ['a rejection names it', high, [{ ...approve(high), decision: 'reject' }], false],
  ['an upgrade is awaited', high, [{ ...approve(high), decision: null }], false],
  ['it became more severe', critical, [approve(high)], false],
  ['it became less severe', high, [approve(critical)], true],
  ['it is exploited by now', exploited, [approve(high)], false],
  ['it was exploited when the approval was given', exploited, [approve(exploited)], true],
  ['one of two approvals covers it', critical, [approve(high), approve(critical)], true],
])('%s', (_, now, decisions, expected) => {
  expect(isCovered(now, decisions)).toBe(expected)
  expect(withAcceptance([now], decisions)).toEqual([{ ...now, accepted_by_decision: expected }])
})

test.each<[string, (typeof high)[], (typeof high)[], ActiveDecision[], string[]]>([
  ['a finding is new', [], [high], [], ['new']],
  ['a new finding is only warned about', [], [finding('CVE-1', { action: 'warn' })], [], []],
  ['a finding is known', [high], [high], [], []],
  ['a known finding became more severe', [high], [critical], [], ['severity_raised']],
  ['a known finding is exploited by now', [high], [exploited], [], ['known_exploited']],
  [
    'both at the same time',
    [high],
    [finding('CVE-1', { severity: 'Critical', in_kev: true })],
    [],
    ['known_exploited'],
  ],
  ['a finding is gone', [high], [], [], []],
  ['a new finding is covered', [], [high], [approve(high)], []],
  [
    'a covered finding became worse than its decision knew',
    [critical],
    [critical],
    [approve(high)],
    ['severity_raised'],
  ],
  ['several findings are new', [], [high, finding('CVE-2')], [], ['new', 'new']],
])('%s', (_, before, after, decisions, reasons) => {
  expect(reasonsToAsk(before, after, decisions).map(({ reason }) => reason)).toEqual(reasons)
})
