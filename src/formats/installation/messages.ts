// The questions to the installability thread, and its answers.
import type { CheckResult, HeldStatus, PlanResult } from '../../domain/installability.ts'
import type { FormatId } from '../../domain/package.ts'
import type { Budget } from '../solver/check.ts'
import type { Reach } from '../architectures.ts'

/** Where the packages of a universe come from. */
export type Origin =
  /** published in the distribution */
  | 'distribution'
  /** in the catalog of a synced source */
  | 'upstream'
  /** what a plan would add */
  | 'added'
  /** records that are not offered: used only in explanations */
  | HeldStatus

export interface ThreadData {
  format: FormatId
  /** architectures that the client installs */
  reach: Reach
  budget: Budget
}

/** `name`, `version`, `arch`, Multi-Arch or null, requirements, provides. */
export type PackageTuple = [string, string, string, string | null, unknown, unknown]

/** Selects packages of a distribution. */
export interface Selector {
  name: string
  version?: string | undefined
  arch?: string | undefined
}

export type Request =
  | { kind: 'add'; origin: Origin; /** JSON of `PackageTuple[]` */ packages: string }
  | { kind: 'check'; mostListed: number }
  | { kind: 'plan'; withUpstream: boolean; remove: readonly Selector[]; mostListed: number }

export type Reply =
  | { added: number; /** that they need, exclude and provide */ relations: number }
  | { checked: CheckResult }
  | { planned: PlanResult }
  | { failure: string }
