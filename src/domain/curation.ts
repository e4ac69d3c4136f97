// What a proxy lets through of what its upstream lists: one verdict for the list that clients read and for the files. Pure.
import type { Finding } from './finding.ts'

export const INSTALL_SCRIPTS = ['allow', 'warn', 'hold_new'] as const
export const PROVENANCE = ['allow', 'warn', 'require'] as const

/** The rules of one proxy. */
export interface Curation {
  /** how old a version must be; 0 switches the rule off */
  min_age_days: number
  /** a version that mends a high or worse finding of the newest listed one does not wait for its age */
  fixes_pass: boolean
  /** licences that are held, as packages write them; letter case does not count */
  deny_licenses: string[]
  install_scripts: (typeof INSTALL_SCRIPTS)[number]
  /** `warn`: when the version before had provenance and this one has none; `require`: hold every version without it */
  provenance: (typeof PROVENANCE)[number]
  /** whether clients hear of held versions, and why; otherwise these are in no list */
  explain_holds: boolean
}

export const DEFAULT_CURATION: Curation = {
  min_age_days: 7,
  fixes_pass: true,
  deny_licenses: [],
  install_scripts: 'warn',
  provenance: 'warn',
  explain_holds: true,
}

export const CURATION_RULES = ['malicious', 'vulnerable', 'age', 'licence', 'install_scripts', 'provenance'] as const
export type CurationRule = (typeof CURATION_RULES)[number]

/** A finding as far as it matters here. */
export type KnownFinding = Pick<Finding, 'id' | 'severity' | 'action' | 'aliases'>

/** A version, or one of its files, as the upstream lists it. */
export interface CuratedVersion {
  version: string
  /** null when the upstream does not say: the age cannot be judged, so no age is asked for */
  publishedAt: Date | null
  license: string | null
  hasInstallScript: boolean
  hasProvenance: boolean
  findings: readonly KnownFinding[]
}

/** What the verdict depends on besides the version. */
export interface CurationContext {
  /** the next older version that the upstream lists */
  before: CuratedVersion | null
  /** the newest older version that clients get */
  listed: CuratedVersion | null
}

export interface Reason {
  rule: CurationRule
  /** for people: `it is younger than 7 days` */
  text: string
  /** when it ends by itself; null when it does not */
  until: Date | null
}

export interface CurationVerdict {
  /** `explain`: clients cannot have it and are told why; `hide`: it is in no list */
  effect: 'list' | 'explain' | 'hide'
  reasons: Reason[]
  /** when it is listed without anybody's doing; null when that needs a person */
  until: Date | null
  /** what reviewers are told, whatever the effect */
  warnings: string[]
}

const DAY_MS = 86_400_000

export function curate(
  version: CuratedVersion,
  { before, listed }: CurationContext,
  policy: Curation,
  now: Date,
): CurationVerdict {
  const reasons: Reason[] = []
  const warnings: string[] = []
  const hold = (rule: CurationRule, text: string, until: Date | null = null) => reasons.push({ rule, text, until })
  const malicious = version.findings.find(isMalicious)
  if (malicious) hold('malicious', `an advisory calls it malicious (${malicious.id})`)
  const open = version.findings.filter(({ action }) => action === 'block' || action === 'review')
  if (open.length > 0) hold('vulnerable', vulnerable(open))
  const ripe = ripeAt(version, policy)
  if (ripe !== null && ripe > now && !(policy.fixes_pass && mends(version, listed)))
    hold('age', `it is younger than ${days(policy.min_age_days)}, until ${ripe.toISOString().slice(0, 16)}Z`, ripe)
  const denied = licenceHold(version.license, policy)
  if (denied !== null) hold('licence', denied)
  if (version.hasInstallScript && policy.install_scripts !== 'allow') {
    const isNew = before !== null && !before.hasInstallScript
    if (policy.install_scripts === 'hold_new' && isNew)
      hold('install_scripts', `it runs scripts at installation, and ${before.version} did not`)
    else warnings.push('it runs scripts at installation')
  }
  if (!version.hasProvenance && policy.provenance === 'require') hold('provenance', 'it has no provenance')
  else if (!version.hasProvenance && policy.provenance === 'warn' && before?.hasProvenance)
    warnings.push(`it has no provenance, and ${before.version} had`)
  return { ...effectOf(reasons, policy), reasons, warnings }
}

function effectOf(reasons: readonly Reason[], policy: Curation): Pick<CurationVerdict, 'effect' | 'until'> {
  if (reasons.length === 0) return { effect: 'list', until: null }
  const ends = reasons.map(({ until }) => until)
  const last = ends.reduce((a, b) => (a && b ? (a > b ? a : b) : null), ends[0] ?? null)
  const isHidden = !policy.explain_holds || reasons.some(({ rule }) => rule === 'malicious')
  return { effect: isHidden ? 'hide' : 'explain', until: last }
}

/**
 * The verdicts on all versions of a name, or on all of their files.
 * @param versions oldest first
 * @returns in their order
 */
export function curateAll(versions: readonly CuratedVersion[], policy: Curation, now: Date): CurationVerdict[] {
  let before: CuratedVersion | null = null
  let listed: CuratedVersion | null = null
  return versions.map((version) => {
    const verdict = curate(version, { before, listed }, policy, now)
    before = version
    if (verdict.effect === 'list') listed = version
    return verdict
  })
}

/** `MAL-` advisories describe malicious code, not a vulnerability (https://github.com/ossf/malicious-packages). */
export const isMalicious = ({ id, aliases = [] }: Pick<KnownFinding, 'id' | 'aliases'>): boolean =>
  [id, ...aliases].some((one) => one.startsWith('MAL-'))

function ripeAt({ publishedAt }: CuratedVersion, { min_age_days: age }: Curation): Date | null {
  return publishedAt === null || age === 0 ? null : new Date(publishedAt.getTime() + age * DAY_MS)
}

const SEVERE: readonly string[] = ['Critical', 'High']

/** Whether clients of the newest listed version have a severe finding that this version does not have. */
function mends({ findings }: CuratedVersion, listed: CuratedVersion | null): boolean {
  const own = new Set(findings.map(({ id }) => id))
  return listed?.findings.some(({ id, severity }) => SEVERE.includes(severity) && !own.has(id)) ?? false
}

function vulnerable(open: readonly KnownFinding[]): string {
  const shown = open.slice(0, 3).map(({ id }) => id)
  const more = open.length > shown.length ? ` and ${open.length - shown.length} more` : ''
  return `it has known vulnerabilities that the policy holds: ${shown.join(', ')}${more}`
}

/** Why a licence is held; null when it is not. Lists may not state it, so that files are asked too. */
export function licenceHold(license: string | null, policy: Pick<Curation, 'deny_licenses'>): string | null {
  const denied = deniedLicense(license, policy.deny_licenses)
  return denied === null ? null : `its licence is ${denied}, which is denied here`
}

/** A licence is a name, or an expression of SPDX. One with `OR` is denied when each choice is. */
function deniedLicense(license: string | null, denied: readonly string[]): string | null {
  if (license === null || denied.length === 0) return null
  const list = denied.map((one) => one.toLowerCase())
  const isDenied = (term: string) => list.includes(term.trim().toLowerCase())
  if (isDenied(license)) return license
  const choices = license.replace(/[()]/g, ' ').split(/\s+OR\s+/i)
  return choices.every((choice) => choice.split(/\s+AND\s+/i).some(isDenied)) ? license : null
}

const days = (count: number): string => (count === 1 ? '1 day' : `${count} days`)

/** One sentence for clients. */
export const sentenceOf = (reasons: readonly Reason[]): string => reasons.map(({ text }) => text).join('; ')
