// What packages need and exclude. Many packages have the same requirement, which is kept once.
import type { Relation, Requirement } from '../../domain/package.ts'
import type { InstallationRules } from '../installation-rules.ts'
import type { Exclusion } from './steps.ts'

export interface Need {
  anyOf: readonly Relation[]
  text: string
  whole: string | null
}

export interface Requirements {
  /** Sorts a requirement of a package under needs or exclusions; leaves out what a client does not enforce. */
  add(index: number, requirement: Requirement): void
  needs: readonly Need[]
  exclusions: readonly Exclusion[]
  /** pairs of a package and the index of what it needs */
  packageNeeds: readonly number[]
  /** pairs of a package and the index of what it excludes */
  packageExclusions: readonly number[]
}

export function createRequirements(installation: InstallationRules): Requirements {
  const needs: Need[] = []
  const needIds = new Map<string, number>()
  const exclusions: Exclusion[] = []
  const exclusionIds = new Map<string, number>()
  const packageNeeds: number[] = []
  const packageExclusions: number[] = []

  function add(index: number, { kind, strong, anyOf, text, whole = '' }: Requirement): void {
    const byName = installation.excludesByName?.includes(kind) ?? false
    if (byName || installation.excludes.includes(kind)) {
      const value = () => ({ kind, text: whole || text, relation: anyOf[0]!, whole: whole || null, byName })
      const id = idOf(exclusionIds, exclusions, `${kind} ${whole || text}`, value)
      packageExclusions.push(index, id)
    } else if (whole === '' ? strong : installation.whole?.isStrong(kind)) {
      const value = () => ({ anyOf: [...anyOf], text: whole || text, whole: whole || null })
      packageNeeds.push(index, idOf(needIds, needs, whole || text, value))
    }
  }

  return { add, needs, exclusions, packageNeeds, packageExclusions }
}

function idOf<T>(ids: Map<string, number>, list: T[], key: string, value: () => T): number {
  const known = ids.get(key)
  if (known !== undefined) return known
  ids.set(key, list.length)
  return list.push(value()) - 1
}
