// Words for the values of the API, once for all pages.
export const STATUSES = {
  published: { word: 'published', color: 'var(--gh-good)' },
  pending_review: { word: 'in review', color: 'var(--gh-review)' },
  quarantined: { word: 'quarantined', color: 'var(--gh-bad)' },
  rejected: { word: 'rejected', color: 'var(--mantine-color-dimmed)' },
} as const

export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'negligible', 'unknown'] as const
export type Severity = (typeof SEVERITIES)[number]

export const SEVERITY_COLORS: Record<Severity, string> = {
  critical: 'var(--gh-bad)',
  high: 'var(--gh-bad)',
  medium: 'var(--gh-care)',
  low: 'var(--mantine-color-blue-5)',
  negligible: 'var(--mantine-color-gray-5)',
  unknown: 'var(--mantine-color-gray-5)',
}

/** Why a package waits for a person. */
export const HELD_REASONS: Record<string, string> = {
  cve_review: 'the policy asks for a review of its findings',
  unscanned: 'it could not be scanned completely',
  breaks_others: 'other packages could not be installed any more',
  curation: 'the rules of its proxy hold it',
  dependency_scan: 'a scan of the components inside it found something',
  second_scanner: 'the second scanner found more',
  rematch: 'a new advisory matches it',
  rescan: 'a new scan found more',
  decision_expired: 'the exception that allowed it has expired',
  decision_withdrawn: 'the decision that allowed it was withdrawn',
}

/** The result of a step of the gate: its word, and whether it is fine, needs care, or is unknown (never shown as fine). */
export const VERDICTS: Record<string, { word: string; tone: Tone }> = {
  clean: { word: 'clean', tone: 'good' },
  infected: { word: 'infected', tone: 'bad' },
  limited: { word: 'only partly scanned', tone: 'unknown' },
  skipped: { word: 'not scanned: switched off', tone: 'unknown' },
  error: { word: 'scan failed', tone: 'unknown' },
  no_findings: { word: 'no findings', tone: 'good' },
  allowed: { word: 'findings, all allowed', tone: 'good' },
  warning: { word: 'findings with a warning', tone: 'care' },
  review: { word: 'findings to review', tone: 'care' },
  blocked: { word: 'blocked by the policy', tone: 'bad' },
  no_data: { word: 'no advisories for this distribution', tone: 'unknown' },
  signed: { word: 'signed', tone: 'good' },
  unsigned: { word: 'not signed', tone: 'care' },
  unverified: { word: 'signed by an unknown key', tone: 'care' },
  invalid: { word: 'signature invalid', tone: 'bad' },
  satisfied: { word: 'dependencies satisfied', tone: 'good' },
  missing: { word: 'dependencies missing', tone: 'care' },
  breaks_others: { word: 'breaks other packages', tone: 'bad' },
  withheld: { word: 'held by the rules of its proxy', tone: 'care' },
  not_run: { word: 'not run', tone: 'unknown' },
}

export type Tone = 'good' | 'care' | 'bad' | 'unknown'

export const STEPS: Record<string, string> = {
  format: 'Format',
  provenance: 'Provenance',
  antivirus: 'Malware',
  cve: 'Vulnerabilities',
  cve_scan: 'Vulnerabilities',
  gpg: 'Signature',
  curation: 'Rules of the proxy',
  attestations: 'Attestations',
  dependencies: 'Dependencies',
  publication: 'Publication',
}

export const ACTIONS = {
  accept_risk: 'Accept the risk',
  exception: 'Exception',
  upgrade_required: 'Upgrade required',
  reject: 'Reject',
} as const

/** Abbreviations that stay in capitals. */
const CAPITALS = /\b(api|apt|av|ca|cve|dn|epss|gpg|kev|ldap|mfa|oidc|rpm|sla|smtp|ssl|tls|url)\b/g

/** @returns "API token create" for API_TOKEN_CREATE, "cve-rematch" or the like */
export function sentence(key: string): string {
  const words = key
    .toLowerCase()
    .replace(/[_-]/g, ' ')
    .replace(CAPITALS, (word) => word.toUpperCase())
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** @returns "1 package", "2 packages" */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${amount(n)} ${n === 1 ? one : many}`
}

/** A number as the reader's language groups its digits. */
export const amount = (n: number): string => new Intl.NumberFormat().format(n)

/** @returns "92 %" for an EPSS score of 0.92, "0.4 %" for 0.0042 */
export function chance(epss: number): string {
  const percent = epss * 100
  return percent < 0.1 ? '< 0.1 %' : `${percent.toFixed(percent < 1 ? 1 : 0)} %`
}

const SIZES = ['B', 'KB', 'MB', 'GB', 'TB']

/** @returns "1.4 MB" for a number of bytes */
export function bytes(n: number): string {
  const step = n < 1000 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log10(n) / 3))
  const value = n / 1000 ** step
  return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 && step > 0 ? 1 : 0 })} ${SIZES[step] ?? ''}`
}
