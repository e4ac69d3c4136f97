// A known vulnerability of a package, and the severities.

export const SEVERITIES = ['Critical', 'High', 'Medium', 'Low', 'Negligible', 'Unknown'] as const
export type Severity = (typeof SEVERITIES)[number]

/** Keys of the policy and of counts: severities in lower case. */
export const SEVERITY_KEYS = ['critical', 'high', 'medium', 'low', 'negligible', 'unknown'] as const
export type SeverityKey = (typeof SEVERITY_KEYS)[number]

export const ACTIONS = ['block', 'review', 'warn', 'allow'] as const
export type PolicyAction = (typeof ACTIONS)[number]

export const FIX_STATES = ['fixed', 'not-fixed', 'wont-fix', 'unknown'] as const
export type FixState = (typeof FIX_STATES)[number]

export interface Finding {
  id: string
  severity: Severity
  cvss: number | null
  description: string | null
  package_name: string
  package_version: string
  package_type: string
  fix_state: FixState
  fix_versions: string[]
  urls: string[]
  epss: number | null
  epss_percent: number | null
  epss_label: string | null
  in_kev: boolean
  action: PolicyAction
  first_seen: string
  sources: string[]
  /** its other ids: of the advisories that report it (DSA, ALSA, RHSA, GHSA), and their aliases; older builds stored none */
  aliases?: string[]
  accepted_by_decision: boolean
  /** the affected components inside the package, each with its own fixes, the worst first; absent when none is affected */
  components?: AffectedComponent[]
}

export interface AffectedComponent {
  name: string
  version: string
  /** `npm`, `pypi`, `maven` */
  type: string
  severity: Severity
  fix_state: FixState
  fix_versions: string[]
}

export type SeverityCounts = Record<SeverityKey, number>

export function countSeverities(findings: readonly { severity: Severity }[]): SeverityCounts {
  const counts: SeverityCounts = { critical: 0, high: 0, medium: 0, low: 0, negligible: 0, unknown: 0 }
  for (const finding of findings) counts[finding.severity.toLowerCase() as SeverityKey]++
  return counts
}

/** `1 known vulnerability`, `2 known vulnerabilities` */
export const vulnerabilities = (count: number): string =>
  `${count} known ${count === 1 ? 'vulnerability' : 'vulnerabilities'}`
