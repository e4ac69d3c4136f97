// Packages that every vulnerability scanner must flag, according to the advisories in force.
import type { AdvisoryState } from '../../../domain/advisory-store.ts'
import type { Distribution } from '../../../domain/package.ts'
import { coversOf } from '../osv/data.ts'

/** A package, in a version below every released one. */
export interface KnownVulnerable {
  name: string
  version: string
}

/**
 * The query behind it reads all advisories of an ecosystem, so the answer is kept until the advisories change.
 * @param deps.namesOf packages with the most advisories that affect every old version
 * @param deps.lowestVersion below every released version of the distribution's format
 */
export function createKnownVulnerable(deps: {
  state(): Promise<AdvisoryState>
  namesOf(ecosystems: readonly string[]): Promise<string[]>
  lowestVersion(distribution: Distribution): string
}): (distribution: Distribution) => Promise<readonly KnownVulnerable[]> {
  const kept = new Map<string, { generation: number; packages: readonly KnownVulnerable[] }>()
  return async (distribution) => {
    const state = await deps.state()
    const before = kept.get(distribution.codename)
    if (before?.generation === state.generation) return before.packages
    const covered = coversOf(state, distribution)
    const names = covered.length === 0 ? [] : await deps.namesOf(covered)
    const packages = names.map((name) => ({ name, version: deps.lowestVersion(distribution) }))
    kept.set(distribution.codename, { generation: state.generation, packages })
    return packages
  }
}
