// What a removal or a newer version would break: published packages whose requirements it alone met.
import { sql } from 'kysely'
import type { PackageFacts, Relation, Requirement } from '../domain/package.ts'
import { areTogether, reachOf } from '../formats/architectures.ts'
import { satisfies, type Offer } from '../formats/dependencies.ts'
import type { Offered } from '../formats/format.ts'
import type { Db } from '../store/db.ts'
import { append } from '../kernel/append.ts'

/** A published package with a requirement that nothing would satisfy any more. */
export interface Breakage {
  name: string
  version: string
  arch: string
  distribution: string
  /** as the package states it */
  requirement: string
}

/** Packages whose requirements are looked at for one change, in the order of their arrival. */
export const MOST_DEPENDENTS = 2000

type Added = Pick<PackageFacts, 'name' | 'version' | 'arch' | 'provides' | 'multiArch'>

export interface Dependent {
  id: number
  name: string
  version: string
  arch: string
  /** those that name something that changes */
  requirements: readonly Requirement[]
}

export interface Provider extends Offer {
  id: number
  capability: string
  package: string
  packageVersion: string
  arch: string
}

/**
 * The published packages with a requirement that one of these records meets and no other one of the distribution would.
 * Looks at requirements only; `POST .../installability/plan` also considers conflicts and what depends on the broken ones.
 * @param ids records of the distribution
 */
export async function removalBreaks(db: Db, offered: Offered, ids: readonly number[]): Promise<Breakage[]> {
  const gone = new Set(ids)
  const names = await capabilitiesOf(db, ids)
  const dependents = await dependentsOf(db, offered, names)
  const providers = await providersOf(db, offered, dependents)
  const isStaying = ({ id }: Provider) => !gone.has(id)
  return broken(
    offered,
    dependents.filter(({ id }) => !gone.has(id)),
    (name) => providers.get(name) ?? [],
    (name) => providers.get(name)?.filter(isStaying) ?? [],
  )
}

/**
 * The same for clients that take the newest version of every package, when newer versions are added: older ones stay in the
 * index, but apt does not choose them. Only the newest versions count, before and after.
 * @param publishedOf reads what a distribution publishes under names; it may return more
 */
export async function additionBreaks(
  db: Db,
  offered: Offered,
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
    before,
    (name) => [...before(name).filter(({ id }) => !replaced.has(id)), ...(offers.get(name) ?? [])],
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
  { format, distribution }: Offered,
  dependents: readonly Dependent[],
  before: (name: string) => readonly Offer[],
  after: (name: string) => readonly Offer[],
): Breakage[] {
  return dependents.flatMap(({ name, version, arch, requirements }) => {
    const reach = reachOf({ arch }, format, distribution)
    const isMet = ({ anyOf }: Requirement, offers: (name: string) => readonly Offer[]) =>
      anyOf.some((relation: Relation) =>
        offers(relation.name).some((offer) => satisfies(relation, offer, format.versions, reach)),
      )
    return requirements
      .filter((requirement) => isMet(requirement, before) && !isMet(requirement, after))
      .map(({ text }) => ({ name, version, arch, distribution: distribution.codename, requirement: text }))
  })
}

export async function capabilitiesOf(db: Db, ids: readonly number[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('capabilities')
    .select('name')
    .distinct()
    .where('package_id', 'in', [...ids])
    .execute()
  return rows.map(({ name }) => name)
}

/** Published packages that need something by one of these names: the first of them, after this id. */
export async function dependentsOf(
  db: Db,
  { distribution }: Offered,
  names: readonly string[],
  after = 0,
): Promise<Dependent[]> {
  if (names.length === 0) return []
  const { rows } = await sql<Omit<Dependent, 'requirements'> & { requirements: Requirement[] | null }>`
    select p.id, p.name, p.version, p.arch, (
      select json_agg(r) from jsonb_array_elements(b.facts->'requirements') as r
      where (r->>'strong')::boolean and exists (
        select from jsonb_array_elements(r->'anyOf') as a where a->>'name' = any(${[...names]}::text[]))) as requirements
    from (select distinct package_id from dependents
      where distribution = ${distribution.codename} and name = any(${[...names]}::text[]) and package_id > ${after}
      order by package_id limit ${MOST_DEPENDENTS}) d
    join packages p on p.id = d.package_id join blobs b on b.sha256 = p.sha256 order by p.id`.execute(db)
  return rows.flatMap(({ requirements, ...row }) => (requirements ? [{ ...row, requirements }] : []))
}

/** What is published under the names in the dependents' requirements. */
export async function providersOf(
  db: Db,
  { distribution }: Offered,
  dependents: readonly Pick<Dependent, 'requirements'>[],
): Promise<Map<string, Provider[]>> {
  const names = new Set(
    dependents.flatMap(({ requirements }) =>
      requirements.flatMap(({ anyOf }) => anyOf.map((relation) => relation.name)),
    ),
  )
  const { rows } = await sql<Provider>`
    select p.id, c.name as capability, c.version, c.arch, c.multi_arch as "multiArch", p.name as package, p.version as "packageVersion"
    from capabilities c join packages p on p.id = c.package_id
    where c.distribution = ${distribution.codename} and c.name = any(${[...names]}::text[])`.execute(db)
  return grouped(rows, ({ capability }) => capability)
}

interface Published {
  id: number
  name: string
  version: string
  arch: string
}

export type PublishedOf = (codename: string, names: readonly string[]) => Promise<Map<string, Published[]>>

/** What a distribution publishes under each of these names. */
export async function publishedVersions(
  db: Db,
  codename: string,
  names: readonly string[],
): Promise<Map<string, Published[]>> {
  if (names.length === 0) return new Map()
  const rows = await db
    .selectFrom('offers')
    .select(['package_id as id', 'name', 'version', 'arch'])
    .where('distribution', '=', codename)
    .where('name', 'in', [...names])
    .where('until_revision', 'is', null)
    .execute()
  return grouped(rows, ({ name }) => name)
}

function grouped<T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>()
  for (const row of rows) {
    append(found, keyOf(row), row)
  }
  return found
}
