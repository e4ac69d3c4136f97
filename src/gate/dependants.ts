// Which published packages need a record, and are affected when it is approved, rejected or deleted.
import type { PackageFacts, Requirement } from '../domain/package.ts'
import { reachOf } from '../formats/architectures.ts'
import { isMetBy, type Offer, type Offers } from '../formats/dependencies.ts'
import type { Matching, Placed } from '../formats/intake-format.ts'
import type { Db } from '../store/db.ts'
import { dependentsOf, MOST_DEPENDENTS, providersOf, type Dependent } from './capability-query.ts'

export interface Dependant {
  id: number
  name: string
  version: string
  arch: string
  /** those that the record meets, as the package states them */
  requirements: string[]
  /** at least one of them is met by nothing else that is published */
  only: boolean
}

export interface Dependants {
  packages: Dependant[]
  /** there are more: only the first `MOST_DEPENDENTS` that name something the record offers were checked */
  truncated: boolean
}

type Needed = { id: number } & Pick<PackageFacts, 'name' | 'version' | 'arch' | 'provides' | 'multiArch'>

/**
 * The published packages of the record's distribution with a strong requirement that it meets, or would meet once it is
 * published, in the order of their arrival.
 */
export async function dependantsOf(db: Db, offered: Placed<Matching>, needed: Needed): Promise<Dependants> {
  const { format, distribution } = offered
  const { name, version, arch, provides, multiArch = null } = needed
  const own = new Map<string, Offer[]>()
  for (const one of [{ name, version }, ...provides])
    own.set(one.name, [...(own.get(one.name) ?? []), { version: one.version ?? null, arch, multiArch }])
  const dependents = await dependentsOf(db, offered, [...own.keys()])
  const providers = await providersOf(db, offered, dependents)
  const meets = ({ arch }: Dependent, requirement: Requirement, offers: Pick<Offers, 'get'>) =>
    isMetBy(offers, requirement, format.versions, reachOf({ arch }, format, distribution))
  const others = { get: (capability: string) => providers.get(capability)?.filter(({ id }) => id !== needed.id) }
  const packages = dependents.flatMap((dependent): Dependant[] => {
    if (dependent.id === needed.id) return []
    const met = dependent.requirements.filter((one) => meets(dependent, one, own))
    if (met.length === 0) return []
    const { id, name, version, arch } = dependent
    const only = met.some((one) => !meets(dependent, one, others))
    return [{ id, name, version, arch, requirements: met.map(({ text }) => text), only }]
  })
  return { packages, truncated: dependents.length === MOST_DEPENDENTS }
}
