// Which published packages a removal or a newer version would break, because nothing else meets their requirements.
import type { PackageFacts, Requirement } from '../domain/package.ts'
import { areTogether, reachOf } from '../formats/architectures.ts'
import { isMetBy, type Offer, type Offers } from '../formats/dependencies.ts'
import type { Matching, Placed } from '../formats/intake-format.ts'
import type { Db } from '../store/db.ts'
import {
  capabilitiesOf,
  dependentsOf,
  providersOf,
  publishedVersions,
  type Dependent,
  type Provider,
  type Published,
  type PublishedOf,
} from './capability-query.ts'

/** A published package with a requirement that nothing would satisfy any more. */
export interface Breakage {
  name: string
  version: string
  arch: string
  distribution: string
  /** as the package states it */
  requirement: string
}

type Added = Pick<PackageFacts, 'name' | 'version' | 'arch' | 'provides' | 'multiArch'>

/**
 * The published packages with a requirement that one of these records meets and no other record of the distribution meets.
 * Looks at requirements only; `POST .../installability/plan` also considers conflicts and what depends on the broken ones.
 * @param ids records of the distribution
 */
export async function removalBreaks(db: Db, offered: Placed<Matching>, ids: readonly number[]): Promise<Breakage[]> {
  const gone = new Set(ids)
  const names = await capabilitiesOf(db, ids)
  const dependents = await dependentsOf(db, offered, names)
  const providers = await providersOf(db, offered, dependents)
  const isStaying = ({ id }: Provider) => !gone.has(id)
  return broken(
    offered,
    dependents.filter(({ id }) => !gone.has(id)),
    providers,
    { get: (name) => providers.get(name)?.filter(isStaying) },
  )
}

/**
 * The published packages that newer versions would break, for clients that take the newest version of every package: older
 * ones stay in the index, but apt does not choose them. Only the newest versions count, before and after the addition.
 * @param publishedOf reads what a distribution publishes under names; it may return more
 */
export async function additionBreaks(
  db: Db,
  offered: Placed<Matching>,
  added: readonly Added[],
  publishedOf: PublishedOf = (codename, names) => publishedVersions(db, codename, names),
): Promise<Breakage[]> {
  const { versions } = offered.format
  const isSame = (a: { arch: string }, b: { arch: string }) => areTogether(offered.format, a.arch, b.arch)
  const { codename } = offered.distribution
  const present = await publishedOf(codename, [...new Set(added.map(({ name }) => name))])
  const newestOf = (list: readonly Published[], arch: string) =>
    list.reduce<Published | null>(
      (best, one) => (isSame(one, { arch }) && (!best || versions.compare(one.version, best.version) > 0) ? one : best),
      null,
    )
  const newer = added.flatMap((one) => {
    const before = newestOf(present.get(one.name) ?? [], one.arch)
    return before && versions.compare(one.version, before.version) > 0 ? [{ one, before }] : []
  })
  if (newer.length === 0) return []
  const replaced = new Set(newer.map(({ before }) => before.id))
  const dependents = await dependentsOf(db, offered, await capabilitiesOf(db, [...replaced]))
  if (dependents.length === 0) return []
  const providers = await providersOf(db, offered, dependents)
  const all = [...providers.values()].flat()
  const related = await publishedOf(codename, [
    ...new Set([...all.map((one) => one.package), ...dependents.map(({ name }) => name)]),
  ])
  const isNewest = (name: string, arch: string, version: string) => {
    const newest = newestOf(related.get(name) ?? [], arch)
    return !newest || versions.compare(version, newest.version) >= 0
  }
  const offers = new Map<string, Offer[]>()
  for (const { name, version, arch, provides, multiArch = null } of added)
    for (const one of [{ name, version }, ...provides])
      offers.set(one.name, [...(offers.get(one.name) ?? []), { version: one.version ?? null, arch, multiArch }])
  const before = (name: string) =>
    providers.get(name)?.filter((one) => isNewest(one.package, one.arch, one.packageVersion)) ?? []
  return broken(
    offered,
    dependents.filter(
      ({ name, version, arch }) => !added.some((one) => one.name === name) && isNewest(name, arch, version),
    ),
    { get: before },
    { get: (name) => [...before(name).filter(({ id }) => !replaced.has(id)), ...(offers.get(name) ?? [])] },
  )
}

/** One sentence for warnings; null when nothing breaks. */
export function breakageWarning(breaks: readonly Breakage[]): string | null {
  const [first] = breaks
  if (!first) return null
  const packages = new Set(breaks.map(({ name, version, arch }) => `${name} ${version} ${arch}`)).size
  const others = packages > 1 ? ` and ${packages - 1} more` : ''
  return `no longer installable in ${first.distribution}: ${first.name} ${first.version} (needs ${first.requirement})${others}`
}

function broken(
  { format, distribution }: Placed<Matching>,
  dependents: readonly Dependent[],
  before: Pick<Offers, 'get'>,
  after: Pick<Offers, 'get'>,
): Breakage[] {
  return dependents.flatMap(({ name, version, arch, requirements }) => {
    const reach = reachOf({ arch }, format, distribution)
    const isMet = (offers: Pick<Offers, 'get'>, one: Requirement) => isMetBy(offers, one, format.versions, reach)
    return requirements
      .filter((requirement) => isMet(before, requirement) && !isMet(after, requirement))
      .map(({ text }) => ({ name, version, arch, distribution: distribution.codename, requirement: text }))
  })
}
