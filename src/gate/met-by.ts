// Which published package meets each requirement of a package: the next step of its dependency tree.
import type { PackageFacts, Requirement } from '../domain/package.ts'
import { reachOf } from '../formats/architectures.ts'
import { satisfies } from '../formats/dependencies.ts'
import type { Matching, Placed } from '../formats/intake-format.ts'
import type { Db } from '../store/db.ts'
import { providersOf, type Provider } from './capability-query.ts'

type Needing = Pick<PackageFacts, 'name' | 'version' | 'arch' | 'requirements'>

export interface MetBy {
  name: string
  version: string
  arch: string
}

/**
 * The first alternative that is met counts. A package of that name is preferred to one that provides it, then the newest
 * version. A requirement that the distribution does not meet has no entry.
 */
export async function metBy(db: Db, offered: Placed<Matching>, facts: Needing): Promise<Map<Requirement, MetBy>> {
  const { format, distribution } = offered
  const requirements = facts.requirements.filter((requirement) => requirement.strong)
  const providers = await providersOf(db, offered, [{ requirements }])
  const reach = reachOf(facts, format, distribution)
  const isBetter = (one: Provider, other: Provider) => {
    const named = Number(one.package === one.capability) - Number(other.package === other.capability)
    return named > 0 || (named === 0 && format.versions.compare(one.packageVersion, other.packageVersion) > 0)
  }
  const met = new Map<Requirement, MetBy>()
  for (const requirement of requirements)
    for (const relation of requirement.anyOf) {
      const fitting = providers
        .get(relation.name)
        ?.filter((offer) => satisfies(relation, offer, format.versions, reach))
        .reduce<Provider | null>((best, one) => (!best || isBetter(one, best) ? one : best), null)
      if (!fitting) continue
      met.set(requirement, { name: fitting.package, version: fitting.packageVersion, arch: fitting.arch })
      break
    }
  return met
}
