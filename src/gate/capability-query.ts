// What packages of a distribution offer and need, by name, for the checks of the gate.
import { sql } from 'kysely'
import type { Requirement } from '../domain/package.ts'
import type { Offer, Offers } from '../formats/dependencies.ts'
import type { Matching, Placed } from '../formats/intake-format.ts'
import { append } from '../kernel/append.ts'
import type { Db } from '../store/db.ts'

/** For one change, the requirements of at most this many packages are checked, in the order of their arrival. */
export const MOST_DEPENDENTS = 2000

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

/** What the published packages of a distribution provide under these names. */
export async function offersOf(db: Db, codename: string, names: readonly string[]): Promise<Offers> {
  const { rows } = await sql<{ name: string; version: string | null; arch: string; multiArch: string | null }>`
    select name, version, arch, multi_arch as "multiArch" from capabilities where distribution = ${codename} and name = any(${[...names]}::text[])`.execute(
    db,
  )
  return grouped(rows, ({ name }) => name)
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

/** The first `MOST_DEPENDENTS` published packages after this id that need something by one of these names. */
export async function dependentsOf(
  db: Db,
  { distribution }: Placed<Matching>,
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
export function providersOf(
  db: Db,
  { distribution }: Placed<Matching>,
  dependents: readonly Pick<Dependent, 'requirements'>[],
): Promise<Map<string, Provider[]>> {
  const names = new Set(
    dependents.flatMap(({ requirements }) =>
      requirements.flatMap(({ anyOf }) => anyOf.map((relation) => relation.name)),
    ),
  )
  return providersNamed(db, distribution.codename, [...names])
}

/** What a distribution publishes under these names. */
export async function providersNamed(
  db: Db,
  codename: string,
  names: readonly string[],
): Promise<Map<string, Provider[]>> {
  if (names.length === 0) return new Map()
  const { rows } = await sql<Provider>`
    select p.id, c.name as capability, c.version, c.arch, c.multi_arch as "multiArch", p.name as package, p.version as "packageVersion"
    from capabilities c join packages p on p.id = c.package_id
    where c.distribution = ${codename} and c.name = any(${[...names]}::text[])`.execute(db)
  return grouped(rows, ({ capability }) => capability)
}

export interface Published {
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
