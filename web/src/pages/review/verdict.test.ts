import { expect, test } from 'vitest'
import { verdictOf } from './verdict.ts'

const finding = (more: object = {}) => ({
  ...{ holding: true, in_kev: false, fix_versions: ['1.21.1-10'], fixed_here: null, fixed_waiting: null },
  ...more,
})
const evidence = (findings: object[], more: object = {}) =>
  ({
    ...{ findings, findings_total: findings.length, holding_total: findings.length, served: false },
    held: { reason: 'cve_review' },
    ...more,
  }) as never
const NOBODY = { clients: 0 }

test.each([
  [
    'an exploited one with a fix elsewhere',
    evidence([finding({ in_kev: true }), finding(), finding()], { findings_total: 10, holding_total: 3 }),
    NOBODY,
    '3 of 10 findings hold it, 1 known exploited, fixed by 1.21.1-10 (not here), no client has it.',
  ],
  [
    'the fix is published here',
    evidence([finding({ fixed_here: '1.22-1' })]),
    { clients: 3 },
    '1 of 1 finding holds it, fixed by 1.21.1-10 (here: 1.22-1), 3 clients have it.',
  ],
  [
    'the fix is under review here',
    evidence([finding({ fixed_waiting: '1.22-1' })]),
    NOBODY,
    '1 of 1 finding holds it, fixed by 1.21.1-10 (waits for review here: 1.22-1), no client has it.',
  ],
  [
    'a source has the fix',
    evidence([finding({ fix_available: { source: 'Debian security' } })]),
    null,
    '1 of 1 finding holds it, fixed by 1.21.1-10 (not here: Debian security has it), no client gets it.',
  ],
  [
    'some have no fix, and clients get it',
    evidence([finding(), finding({ fix_versions: [] })], { served: true }),
    NOBODY,
    '2 of 2 findings hold it, 1 fixed by 1.21.1-10 (not here), 1 without a fix, clients get it now.',
  ],
  [
    'many fixes',
    evidence(['1', '2', '3', '4'].map((version) => finding({ fix_versions: [version] }))),
    NOBODY,
    '4 of 4 findings hold it, fixed by 1, 2 and 2 more (not here), no client has it.',
  ],
  [
    'no fix',
    evidence([finding({ fix_versions: [] })]),
    NOBODY,
    '1 of 1 finding holds it, no fix is known, no client has it.',
  ],
  [
    'not scanned',
    evidence([], { held: { reason: 'unscanned' } }),
    NOBODY,
    'Held because it could not be scanned completely, no client has it.',
  ],
])('%s', (_, of, downloads, sentence) => {
  expect(verdictOf(of, downloads)).toBe(sentence)
})

test('accepted findings are not counted among those that are exploited', () => {
  const accepted = finding({ holding: false, in_kev: true })
  expect(verdictOf(evidence([accepted, finding()], { holding_total: 1 }), NOBODY)).not.toContain('exploited')
})
