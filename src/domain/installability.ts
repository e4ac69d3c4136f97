// The result of checking a distribution's packages: which cannot be installed, and why.

import type { PackageStatus } from './status.ts'

export interface PackageIdentity {
  name: string
  version: string
  arch: string
}

/** A package that the distribution has a record of, and does not offer. */
export interface HeldPackage extends PackageIdentity {
  status: HeldStatus
}
export const HELD_STATUSES = ['pending_review', 'quarantined'] as const satisfies PackageStatus[]
export type HeldStatus = (typeof HELD_STATUSES)[number]

/** One part of a minimal cause. */
export interface Step {
  kind: 'needs' | 'excludes' | 'same_name'
  /** null: part of a boolean dependency, which `relation` has */
  package: PackageIdentity | null
  /** the requirement or exclusion as the package states it; for `same_name` the name */
  relation: string
  /** `needs`: packages that satisfy it, each of which another step excludes; at most ten */
  candidates: PackageIdentity[]
  candidates_total: number
  /** `needs` without candidates: packages of the name that do not satisfy it, at most five */
  others: PackageIdentity[]
  /** `needs` without candidates: packages that would satisfy it and are held or quarantined, at most five; missing: none */
  held?: HeldPackage[]
  /** `excludes` and `same_name`: the other package */
  excluded: PackageIdentity | null
  sentence: string
}

export interface Uninstallable extends PackageIdentity {
  /** the first steps of a minimal cause, with the distribution's packages alone */
  causes: Step[]
  causes_total: number
}

/** For clients of one architecture. */
export interface CheckResult {
  /** packages of the distribution that the architecture's clients see */
  total: number
  /** packages of catalogs */
  upstream: number
  uninstallable: (Uninstallable & {
    /** with the packages of catalogs; null: undecided, or there is no catalog */
    installable_with_upstream: boolean | null
    /** the cause with the packages of catalogs */
    upstream_causes: Step[] | null
  })[]
  uninstallable_total: number
  uninstallable_with_upstream_total: number
  undecided: PackageIdentity[]
  undecided_total: number
}

/** What a planned change would do. */
export interface PlanResult {
  /** installable before and not after */
  would_break: Uninstallable[]
  would_break_total: number
  /** not installable before, and after */
  would_fix: PackageIdentity[]
  would_fix_total: number
  /** what the plan adds and cannot be installed */
  added_uninstallable: Uninstallable[]
  added_uninstallable_total: number
  undecided_total: number
  /** packages that the plan removes */
  removed: number
}

/** The result of a check, as it is stored. */
export interface InstallabilityResult {
  architectures: (CheckResult & { architecture: string })[]
  /** whose catalogs counted */
  sources: { id: number; name: string; last_sync: string }[]
}
