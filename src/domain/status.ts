// Package statuses, reasons for holding a package, and the results of the gate's steps.

export const PACKAGE_STATUSES = ['published', 'pending_review', 'quarantined', 'rejected'] as const
export type PackageStatus = (typeof PACKAGE_STATUSES)[number]

export type CveStatus = 'approved' | 'pending_review' | 'blocked'

export const HELD_REASONS = [
  'cve_review',
  'unscanned',
  'breaks_others',
  'curation',
  'dependency_scan',
  'second_scanner',
  'rematch',
  'rescan',
  'decision_expired',
  'decision_withdrawn',
] as const
export type HeldReason = (typeof HELD_REASONS)[number]

/** What a person can decide about a held package (docs/api-decisions.md, section 9). */
export const DECISION_ACTIONS = ['accept_risk', 'exception', 'reject', 'upgrade_required'] as const
export type DecisionAction = (typeof DECISION_ACTIONS)[number]

/** The mechanisms that scan packages again after publication. */
export type Mechanism = Extract<HeldReason, 'rescan' | 'rematch' | 'second_scanner' | 'dependency_scan'>

/** The keys of `pipeline` in the upload answer. */
export type PipelineKey = 'antivirus' | 'cve_scan' | 'gpg' | 'dependencies'

/** A check of the gate: one of these keys, or another one, which only `validation_steps` shows. */
export type CheckKey = PipelineKey | (string & {})

/** Values of the keys of `pipeline` in the upload answer (docs/api-decisions.md, section 6). */
export type PipelineResult =
  | 'not_run'
  | 'clean'
  | 'infected'
  | 'limited'
  | 'skipped'
  | 'error'
  | 'no_findings'
  | 'allowed'
  | 'warning'
  | 'review'
  | 'blocked'
  | 'no_data'
  | 'signed'
  | 'unsigned'
  | 'unverified'
  | 'invalid'
  | 'satisfied'
  | 'missing'
  | 'breaks_others'
  | 'withheld'

/** What an engine scanned. A clean result without coverage proves nothing. */
export interface Coverage {
  engine: string | null
  engine_version: string | null
  database_date: string | null
  distro_matched: string | null
  files_seen: number
  files_skipped: { name: string; reason: string }[]
  bytes: number
  /**
   * dependency_scan: `limited` when a file could not be read or an ecosystem has no advisories, `no_data` when no
   * ecosystem of the components has advisories
   */
  result?: 'scanned' | 'limited' | 'no_data'
  /** cve_scan: advisories that were not applied because they are for another stream of the rpm module */
  other_streams?: { stream: string; advisories: number }[]
  /** antivirus: the measured limits of what the engine unpacks; null means no known limit */
  engine_limits?: EngineLimitsShown
}

export interface EngineLimitsShown {
  /** the engine reports what exceeds its limits */
  reports_exceeded: boolean
  reports_encrypted: boolean
  depth: number | null
  files: number | null
  bytes: number | null
  file_bytes: number | null
}

/** What a check means for the package (`decide`). `hold` and `refuse` stop a package; a person can release only `hold`. */
export type Outcome = 'pass' | 'warn' | 'hold' | 'refuse'

export interface Verdict {
  check: CheckKey
  /** the check's name in `validation_steps` */
  name: string
  outcome: Outcome
  result: PipelineResult
  message: string
  detail?: unknown
  coverage?: Coverage
}
