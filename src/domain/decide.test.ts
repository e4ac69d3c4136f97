// Decisions on evidence: a table of cases for packages that arrive, and one for stored packages.
import { expect, test } from 'vitest'
import { ARRIVING, decide, isUnscanned, verdictOf, type Subject } from './decide.ts'
import type { Evidence, Found, Seen } from './evidence.ts'
import type { ActiveDecision } from './acceptance.ts'
import type { Finding, Severity } from './finding.ts'
import type { PipelineKey } from './status.ts'

const now = new Date('2026-03-05T00:00:00Z')
const days = { sla_critical_days: 0, sla_high_days: 7, sla_medium_days: 30 }
const cve_policy = { critical: 'block', high: 'review', medium: 'warn', low: 'allow', ...days } as const
const validation = { on_unscanned: 'hold', on_uninstallable: 'hold', gpg_required: false } as const
const policy = { cve_policy, validation }
const seen = (check: PipelineKey, result: Seen['result'], more: Partial<Seen> = {}): Seen => ({
  ...{ check, result, message: `${check} ${result}` },
  ...more,
})
const found = (id: string, severity: Severity, more: Partial<Found> = {}): Found => ({
  ...{ id, severity, cvss: null, description: null, package_name: 'p', package_version: '1', package_type: 'any' },
  ...{ fix_state: 'unknown', fix_versions: [], urls: [], epss: null, epss_percent: null, epss_label: null },
  ...{ in_kev: false, first_seen: '2026-03-01', sources: [], accepted_by_decision: false },
  ...more,
})
const scan = (...findings: Found[]) => seen('cve_scan', 'scanned', { findings })
const CLEAN = seen('antivirus', 'clean')
const HIGH = found('CVE-1', 'High')
const accepts = (severity: Severity): ActiveDecision => ({
  decision: 'approve',
  covers: [{ id: 'CVE-1', severity, in_kev: false }],
})

test.each<[string, Seen[], [string, string | null, string | null], ActiveDecision[]?]>([
  ['nothing was looked at', [], ['published', null, null]],
  ['all is well', [CLEAN, scan(), seen('gpg', 'signed')], ['published', null, 'approved']],
  ['an infection', [seen('antivirus', 'infected')], ['quarantined', null, null]],
  ['an invalid signature', [CLEAN, scan(), seen('gpg', 'invalid')], ['quarantined', null, 'approved']],
  ['an unknown signature', [seen('gpg', 'unverified')], ['published', null, null]],
  ['a blocking finding', [scan(found('CVE-1', 'Critical'))], ['quarantined', null, 'blocked']],
  ['a finding for review', [scan(HIGH)], ['pending_review', 'cve_review', 'pending_review']],
  ['a finding to warn of', [scan(found('CVE-1', 'Medium'))], ['published', null, 'approved']],
  ['an allowed finding', [scan(found('CVE-1', 'Low'))], ['published', null, 'approved']],
  ['a finding that a decision accepts', [scan(HIGH)], ['published', null, 'approved'], [accepts('High')]],
  [
    'a finding that is worse than what was accepted',
    [scan(found('CVE-1', 'Critical'))],
    ['quarantined', null, 'blocked'],
    [accepts('High')],
  ],
  ['a malware scan with a limit', [seen('antivirus', 'limited')], ['pending_review', 'unscanned', null]],
  ['no advisories', [seen('cve_scan', 'no_data')], ['pending_review', 'unscanned', 'pending_review']],
  [
    'a scan that failed, then a good one',
    [seen('antivirus', 'error'), scan()],
    ['pending_review', 'unscanned', 'approved'],
  ],
  [
    'a finding after a scan that could not judge',
    [seen('antivirus', 'limited'), scan(HIGH)],
    ['pending_review', 'cve_review', 'pending_review'],
  ],
  [
    'a blocking finding after a scan that could not judge',
    [seen('antivirus', 'limited'), scan(found('CVE-1', 'Critical'))],
    ['quarantined', null, 'blocked'],
  ],
  ['what it breaks', [seen('dependencies', 'breaks_others')], ['pending_review', 'breaks_others', null]],
  [
    'what it breaks, after a scan that could not judge',
    [seen('antivirus', 'error'), seen('dependencies', 'breaks_others')],
    ['pending_review', 'unscanned', null],
  ],
  ['what it misses', [seen('dependencies', 'missing')], ['published', null, null]],
])('on arrival, %s', (_, checks, expected, decisions = []) => {
  const { status, heldReason, cveStatus, served } = decide(policy, ARRIVING, { checks }, decisions, now)
  expect([status, heldReason, cveStatus]).toEqual(expected)
  expect(served).toBe(status === 'published')
})

test.each<[string, Seen[], string, ActiveDecision[]?]>([
  ['nothing new', [scan()], 'place'],
  ['what its decision accepts', [scan(HIGH)], 'place', [accepts('High')]],
  ['what no decision accepts', [scan(HIGH)], 'arrive_held'],
  ['a blocking finding', [scan(found('C', 'Critical'))], 'arrive_refused', [accepts('High')]],
])('of a copy with %s', (_, checks, expected, decisions = []) => {
  const { event, served } = decide(policy, { ...ARRIVING, isCopy: true }, { checks }, decisions, now)
  expect([event, served]).toEqual([expected, expected === 'place'])
})

const stored = (status: Subject['status'], more: Partial<Subject> = {}): Subject => ({
  ...{ status, served: status === 'published', pipeline: {}, findings: [], held_reason: null },
  ...more,
})
const UNSCANNED = stored('pending_review', { held_reason: 'unscanned' })
const infected = { pipeline: { antivirus: 'infected' } }
const blocked = { pipeline: { cve_scan: 'blocked' } }
const WHOLE = [CLEAN, seen('gpg', 'signed')]
const known = [{ ...HIGH, action: 'review' } as Finding]

test.each<[string, Subject, Evidence, string, ActiveDecision[]?]>([
  ['published: nothing new', stored('published'), { checks: [scan()] }, 'refresh'],
  ['published: something for review', stored('published'), { checks: [scan(HIGH)] }, 'reopen'],
  ['published: a block counts as a review', stored('published'), { checks: [scan(found('C', 'Critical'))] }, 'reopen'],
  ['published: something known', stored('published', { findings: known }), { checks: [scan(HIGH)] }, 'refresh'],
  ['published: an accepted finding', stored('published'), { checks: [scan(HIGH)] }, 'refresh', [accepts('High')]],
  ['published: it became worse', stored('published'), { checks: [scan(HIGH)] }, 'reopen', [accepts('Medium')]],
  [
    'published: an infection is for people',
    stored('published'),
    { checks: [seen('antivirus', 'infected')] },
    'refresh',
  ],
  ['unscanned: all passes now', UNSCANNED, { checks: [scan(), ...WHOLE] }, 'pass'],
  ['unscanned: only the vulnerability scan is known', UNSCANNED, { checks: [scan()] }, 'refresh'],
  [
    'unscanned: a blocking finding, and no look at the file',
    UNSCANNED,
    { checks: [scan(found('C', 'Critical'))] },
    'refresh',
  ],
  ['unscanned: a finding for review', UNSCANNED, { checks: [scan(HIGH), ...WHOLE] }, 'refresh'],
  ['unscanned: an infection', UNSCANNED, { checks: [scan(), seen('antivirus', 'infected')] }, 'quarantine'],
  ['unscanned: a blocking finding', UNSCANNED, { checks: [scan(found('C', 'Critical')), CLEAN] }, 'quarantine'],
  ['unscanned: somebody decided', UNSCANNED, { checks: [scan(), ...WHOLE] }, 'refresh', [accepts('High')]],
  ['held for a finding', stored('pending_review', { held_reason: 'cve_review' }), { checks: WHOLE }, 'refresh'],
  ['unscanned but served', { ...UNSCANNED, served: true }, { checks: [scan(), ...WHOLE] }, 'refresh'],
  ['rejected', stored('rejected'), { checks: [scan(HIGH), ...WHOLE] }, 'refresh'],
  // An infection ends with a scan that finds the file clean, a blocking finding with a scan that does not have it.
  ['quarantined: no cause is left', stored('quarantined', infected), { checks: [scan(), ...WHOLE] }, 'clear'],
  ['quarantined: infected still', stored('quarantined'), { checks: [seen('antivirus', 'infected')] }, 'refresh'],
  ['quarantined: not looked at', stored('quarantined', infected), { checks: [scan()] }, 'refresh'],
  ...(['limited', 'skipped', 'error'] as const).flatMap((result): [string, Subject, Evidence, string][] => {
    const checks = [seen('antivirus', result), seen('gpg', 'signed')]
    return [
      [`quarantined: infected, and now ${result}`, stored('quarantined', infected), { checks }, 'refresh'],
      [`quarantined: clean before, and now ${result}`, stored('quarantined'), { checks }, 'clear'],
    ]
  }),
  ['quarantined: blocked, and no scan', stored('quarantined', blocked), { checks: WHOLE }, 'refresh'],
  ['quarantined: blocked no more', stored('quarantined', blocked), { checks: [scan(HIGH), ...WHOLE] }, 'clear'],
  ['quarantined: blocked now', stored('quarantined'), { checks: [scan(found('C', 'Critical')), ...WHOLE] }, 'refresh'],
  ['quarantined: an invalid signature', stored('quarantined'), { checks: [CLEAN, seen('gpg', 'invalid')] }, 'refresh'],
])('%s', (_, subject, evidence, expected, decisions = []) => {
  expect(decide(policy, subject, evidence, decisions, now).event).toBe(expected)
})

test.each<[string, Seen, Partial<Record<keyof typeof validation, unknown>>, string]>([
  ['a limit, held', seen('antivirus', 'limited'), {}, 'hold'],
  ['no advisories, allowed', seen('cve_scan', 'no_data'), { on_unscanned: 'allow' }, 'warn'],
  ['an error, refused', seen('antivirus', 'error'), { on_unscanned: 'refuse' }, 'refuse'],
  ['switched off', seen('antivirus', 'skipped'), {}, 'pass'],
  ['no scanner', seen('antivirus', 'no_engine', { concern: true }), {}, 'hold'],
  ['no scanner, allowed', seen('antivirus', 'no_engine', { concern: true }), { on_unscanned: 'allow' }, 'warn'],
  ['unsigned', seen('gpg', 'unsigned'), {}, 'warn'],
  ['unsigned where a signature is required', seen('gpg', 'unsigned'), { gpg_required: true }, 'refuse'],
  ['of an unknown key where a known one is required', seen('gpg', 'unverified'), { gpg_required: true }, 'refuse'],
  ['signed', seen('gpg', 'signed'), { gpg_required: true }, 'pass'],
  ['signed by us', seen('gpg', 'signed', { received: 'unsigned' }), {}, 'pass'],
  [
    'signed by us where one is required',
    seen('gpg', 'signed', { received: 'unsigned' }),
    { gpg_required: true },
    'refuse',
  ],
  ['what it breaks, told only', seen('dependencies', 'breaks_others'), { on_uninstallable: 'warn' }, 'warn'],
  ['satisfied', seen('dependencies', 'satisfied'), {}, 'pass'],
])('%s', (_, one, more, outcome) => {
  const set = { cve_policy, validation: { ...validation, ...more } } as typeof policy
  expect(verdictOf(set, one, true).outcome).toBe(outcome)
})

test.each([
  ['error', 'scanner_unavailable'],
  ['limited', 'scan_incomplete'],
  ['no_data', 'scan_incomplete'],
] as const)(
  'where nothing unscanned is taken, %s turns a package away with %s, and a stored one is held',
  (result, code) => {
    const refusing = { cve_policy, validation: { ...validation, on_unscanned: 'refuse' } } as const
    const checks = [seen('antivirus', result)]
    expect(decide(refusing, ARRIVING, { checks }, [], now).turnedAway).toEqual({ code, message: `antivirus ${result}` })
    const again = decide(refusing, stored('published'), { checks }, [], now)
    expect([again.turnedAway, again.verdicts[0]?.outcome]).toEqual([null, 'hold'])
  },
)

test('a finding is judged by the policy, one that was judged before keeps its action, and decisions accept', () => {
  const findings = [HIGH, found('CVE-2', 'Low', { action: 'block' })]
  const decided = decide(policy, stored('published'), { checks: [], findings }, [accepts('High')], now)
  expect(decided.findings?.map(({ id, action, accepted_by_decision: is }) => [id, action, is])).toEqual([
    ['CVE-1', 'review', true],
    ['CVE-2', 'block', false],
  ])
})

test.each<[string, Subject, Evidence, string | null]>([
  ['by its finding', ARRIVING, { checks: [scan(HIGH)] }, '2026-03-12T00:00:00.000Z'],
  [
    'like a high finding when unscanned',
    ARRIVING,
    { checks: [seen('antivirus', 'error')] },
    '2026-03-12T00:00:00.000Z',
  ],
  [
    'by what is new',
    stored('published', { findings: known }),
    { checks: [scan(HIGH, found('C', 'Critical'))] },
    '2026-03-05T00:00:00.000Z',
  ],
  ['never without a cause', ARRIVING, { checks: [scan()] }, null],
])('a review is due %s', (_, subject, evidence, expected) => {
  expect(decide(policy, subject, evidence, [], now).dueAt?.toISOString() ?? null).toBe(expected)
})

test.each([
  [{ antivirus: 'clean', cve_scan: 'no_findings' }, false],
  [{ antivirus: 'skipped', cve_scan: 'blocked' }, false],
  [{ antivirus: 'limited', cve_scan: 'no_findings' }, true],
  [{ antivirus: 'clean', cve_scan: 'no_data' }, true],
  [{ antivirus: 'error' }, true],
  [{ gpg: 'error' }, false],
  [{}, false],
])('a pipeline of %o is unscanned: %s', (pipeline, expected) => {
  expect(isUnscanned(pipeline as Record<string, string>)).toBe(expected)
})

const MALICIOUS = found('MAL-2026-1', 'Low')
const ALIASED = found('GHSA-1', 'Low', { aliases: ['MAL-2026-1'] })

test.each<[string, Partial<Subject>, Found[], [string, string, boolean]]>([
  ['a malicious library', ARRIVING, [MALICIOUS], ['arrive_refused', 'quarantined', false]],
  ['one by an alias', ARRIVING, [ALIASED], ['arrive_refused', 'quarantined', false]],
  ['a published library', { status: 'published', served: true }, [MALICIOUS], ['malicious', 'quarantined', false]],
  ['a held library', { status: 'pending_review', served: true }, [MALICIOUS], ['malicious', 'quarantined', false]],
  ['a rejected library', { status: 'rejected' }, [MALICIOUS], ['refresh', 'rejected', false]],
  ['a vulnerable library', { status: 'published', served: true }, [HIGH], ['reopen', 'pending_review', true]],
])('%s is judged by what advisories call it', (_, subject, findings, expected) => {
  const before = { ...ARRIVING, ...subject, isLibrary: true }
  const { event, status, served } = decide(policy, before, { checks: [scan(...findings)] }, [], now)
  expect([event, status, served]).toEqual(expected)
})

test('a package of a distribution stays, whatever an advisory calls it', () => {
  const before = { ...ARRIVING, status: 'published', served: true } as const
  expect(decide(policy, before, { checks: [scan(MALICIOUS)] }, [], now)).toMatchObject({
    status: 'published',
    served: true,
  })
})
