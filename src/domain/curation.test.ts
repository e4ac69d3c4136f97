// What a proxy lets through: each rule alone, and how they meet.
import { expect, test } from 'vitest'
import {
  curate,
  curateAll,
  DEFAULT_CURATION,
  type Curation,
  type CuratedVersion,
  type KnownFinding,
} from './curation.ts'

const NOW = new Date('2026-03-10T00:00:00Z')
const version = (given: Partial<CuratedVersion> = {}): CuratedVersion => ({
  version: '2.0.0',
  publishedAt: new Date('2026-01-01T00:00:00Z'),
  license: 'MIT',
  hasInstallScript: false,
  hasProvenance: true,
  findings: [],
  ...given,
})
const finding = (id: string, given: Partial<KnownFinding> = {}): KnownFinding => ({
  ...{ id, severity: 'High', action: 'review', aliases: [] },
  ...given,
})
const YOUNG = new Date('2026-03-08T00:00:00Z')
const RIPE = new Date('2026-03-15T00:00:00Z')

interface Case {
  of?: Partial<CuratedVersion>
  before?: Partial<CuratedVersion> | null
  listed?: Partial<CuratedVersion> | null
  policy?: Partial<Curation>
  effect?: 'list' | 'explain' | 'hide'
  rules?: string[]
  until?: Date | null
  warnings?: number
}

const CASES: Record<string, Case> = {
  'an old version': {},
  'a young version waits for its age': { of: { publishedAt: YOUNG }, effect: 'explain', rules: ['age'], until: RIPE },
  'a version that is as old as asked for': { of: { publishedAt: new Date('2026-03-03T00:00:00Z') } },
  'a version without a date': { of: { publishedAt: null } },
  'a young version where no age is asked for': { of: { publishedAt: YOUNG }, policy: { min_age_days: 0 } },
  'a young version that mends the newest listed one': {
    of: { publishedAt: YOUNG },
    listed: { findings: [finding('CVE-1', { action: 'warn' })] },
  },
  'a young version that has the same finding': {
    of: { publishedAt: YOUNG, findings: [finding('CVE-1', { action: 'warn' })] },
    ...{ listed: { findings: [finding('CVE-1', { action: 'warn' })] } },
    ...{ effect: 'explain', rules: ['age'], until: RIPE },
  },
  'a young version that mends something minor': {
    of: { publishedAt: YOUNG },
    listed: { findings: [finding('CVE-1', { severity: 'Medium', action: 'warn' })] },
    ...{ effect: 'explain', rules: ['age'], until: RIPE },
  },
  'a fix where fixes wait': {
    of: { publishedAt: YOUNG },
    ...{ listed: { findings: [finding('CVE-1')] }, policy: { fixes_pass: false } },
    ...{ effect: 'explain', rules: ['age'], until: RIPE },
  },
  'a malicious version': {
    of: { findings: [finding('MAL-2026-1', { action: 'allow' })] },
    effect: 'hide',
    rules: ['malicious'],
  },
  'one whose advisory has a malicious alias': {
    of: { findings: [finding('GHSA-1', { action: 'warn', aliases: ['MAL-2026-1'] })] },
    ...{ effect: 'hide', rules: ['malicious'] },
  },
  'a finding that the policy holds': { of: { findings: [finding('CVE-1')] }, effect: 'explain', rules: ['vulnerable'] },
  'a finding that the policy blocks': {
    of: { findings: [finding('CVE-1', { action: 'block' })] },
    ...{ effect: 'explain', rules: ['vulnerable'] },
  },
  'a finding that the policy allows': { of: { findings: [finding('CVE-1', { action: 'warn' })] } },
  'a young vulnerable version needs a person': {
    of: { publishedAt: YOUNG, findings: [finding('CVE-1')] },
    ...{ effect: 'explain', rules: ['vulnerable', 'age'] },
  },
  'holds without an explanation': {
    of: { publishedAt: YOUNG },
    ...{ policy: { explain_holds: false }, effect: 'hide', rules: ['age'], until: RIPE },
  },
  'a denied licence': {
    of: { license: 'gpl-3.0-only' },
    ...{ policy: { deny_licenses: ['GPL-3.0-only'] }, effect: 'explain', rules: ['licence'] },
  },
  'a choice of licences, one of them denied': {
    of: { license: '(MIT OR GPL-3.0-only)' },
    policy: { deny_licenses: ['GPL-3.0-only'] },
  },
  'two licences at once, one of them denied': {
    of: { license: 'MIT AND GPL-3.0-only' },
    ...{ policy: { deny_licenses: ['GPL-3.0-only'] }, effect: 'explain', rules: ['licence'] },
  },
  'no licence': { of: { license: null }, policy: { deny_licenses: ['GPL-3.0-only'] } },
  'scripts at installation': { of: { hasInstallScript: true }, warnings: 1 },
  'scripts that nobody asks about': { of: { hasInstallScript: true }, policy: { install_scripts: 'allow' } },
  'new scripts': {
    of: { hasInstallScript: true },
    ...{ before: { version: '1.0.0' }, policy: { install_scripts: 'hold_new' } },
    ...{ effect: 'explain', rules: ['install_scripts'] },
  },
  'scripts as before': {
    of: { hasInstallScript: true },
    ...{ before: { hasInstallScript: true }, policy: { install_scripts: 'hold_new' }, warnings: 1 },
  },
  'scripts of the first version': {
    of: { hasInstallScript: true },
    policy: { install_scripts: 'hold_new' },
    warnings: 1,
  },
  'lost provenance': { of: { hasProvenance: false }, before: { hasProvenance: true }, warnings: 1 },
  'provenance that never was': { of: { hasProvenance: false }, before: { hasProvenance: false } },
  'provenance that is required': {
    of: { hasProvenance: false },
    ...{ policy: { provenance: 'require' }, effect: 'explain', rules: ['provenance'] },
  },
}

test.each(Object.entries(CASES))('%s', (_, one) => {
  const other = (given: Partial<CuratedVersion> | null | undefined) =>
    given ? version({ version: '1.0.0', ...given }) : null
  const context = { before: other(one.before), listed: other(one.listed) }
  const verdict = curate(version(one.of), context, { ...DEFAULT_CURATION, ...one.policy }, NOW)
  expect([verdict.effect, verdict.reasons.map(({ rule }) => rule), verdict.until, verdict.warnings.length]).toEqual([
    ...[one.effect ?? 'list', one.rules ?? [], one.until ?? null, one.warnings ?? 0],
  ])
})

test('versions are compared with the version before, and with the newest that clients get', () => {
  const versions = [
    version({ version: '1.0.0', findings: [finding('CVE-1', { action: 'warn' })] }),
    version({ version: '1.0.1', findings: [finding('CVE-2')] }),
    version({ version: '1.0.2', publishedAt: YOUNG }),
    version({ version: '1.0.3', publishedAt: YOUNG }),
  ]
  // The fix passes, and the one after it mends nothing that clients still get.
  expect(curateAll(versions, DEFAULT_CURATION, NOW).map(({ effect }) => effect)).toEqual([
    ...['list', 'explain', 'list', 'explain'],
  ])
})
