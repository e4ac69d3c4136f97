// Reads of what upstream repositories offer.
import { sql } from 'kysely'
import type { Requirement } from '../domain/package.ts'
import type { Db } from '../store/db.ts'
import type { CatalogRow } from '../store/tables.ts'
import { findNames, type FoundName } from './name-search.ts'

/** Characters of a description that a search shows. */
const SHOWN_CHARACTERS = 300

export interface CatalogSearch {
  /** part of a name, in any case, or the whole name of something that packages provide */
  q: string
  limit: number
  sourceId?: number | undefined
  /** the types of sources that are searched */
  types?: readonly string[] | undefined
  /** suite of the sources */
  distribution?: string | undefined
}

export interface FoundPackage {
  name: string
  version: string
  arch: string
  section: string | null
  description: string | null
  requirements: Requirement[]
  size_bytes: number
  digest_algorithm: string
  digest: string
  source_id: number
  synced_at: Date
  distribution: string | null
  security: boolean
  type: string
}

/**
 * Packages with that part in their names, and those that provide exactly that name. The same name comes first, then what
 * provides it, then names that begin with it, then the others. `total` is exact.
 */
export async function searchCatalog(
  db: Db,
  { q, limit, sourceId, types, distribution }: CatalogSearch,
): Promise<{ total: number; results: FoundPackage[] }> {
  const sources = await db
    .selectFrom('sources')
    .select('id')
    .where('last_sync', 'is not', null)
    .$if(sourceId !== undefined, (query) => query.where('id', '=', sourceId!))
    .$if(types !== undefined, (query) => query.where('type', 'in', [...types!]))
    .$if(distribution !== undefined, (query) => query.where('distribution', '=', distribution!))
    .execute()
  const ids = sources.map(({ id }) => id)
  const text = q.toLowerCase()
  const named = await findNames(db, text, ids, limit)
  const providers = await findProviders(db, q, text, ids, limit)
  const isSame = ({ folded }: FoundName) => folded === text
  const same = await packagesOf(db, named.first.filter(isSame), limit)
  const others = named.first.filter((one) => !isSame(one))
  const more = limit - same.length - providers.first.length
  const results = [...same, ...providers.first, ...(more > 0 ? await packagesOf(db, others, more) : [])]
  return { total: named.total + providers.total, results: results.slice(0, limit) }
}

/** Packages that provide the name and do not have it in their own. */
async function findProviders(
  db: Db,
  q: string,
  text: string,
  ids: number[],
  limit: number,
): Promise<{ total: number; first: FoundPackage[] }> {
  const provides = sql`c.provides @> ${JSON.stringify([{ name: q }])}::jsonb and c.source_id = any(${ids}::bigint[])
    and lower(c.name) not like ${`%${escaped(text)}%`}`
  const { rows } = await sql<FoundPackage & { total: number }>`select count(*) over ()::int as total, ${SHOWN}
    from catalog c join sources s on s.id = c.source_id where ${provides}
    order by c.name collate "C", c.source_id, c.version, c.path limit ${limit}`.execute(db)
  return { total: rows[0]?.total ?? 0, first: rows }
}

/** The packages of names, in the order of these. */
async function packagesOf(db: Db, names: readonly FoundName[], limit: number): Promise<FoundPackage[]> {
  if (names.length === 0) return []
  const { rows } = await sql<FoundPackage>`select ${SHOWN}
    from unnest(${names.map(({ name }) => name)}::text[], ${names.map((one) => one.source_id)}::bigint[]) with ordinality as n (name, source_id, place)
      join catalog c on c.name = n.name and c.source_id = n.source_id join sources s on s.id = c.source_id
    order by n.place, c.version, c.path limit ${limit}`.execute(db)
  return rows
}

const SHOWN = sql`c.name, c.version, c.arch, c.section, left(c.description, ${sql.lit(SHOWN_CHARACTERS)}) as description,
  c.requirements, c.size_bytes, c.digest_algorithm, c.digest, c.source_id, c.synced_at, s.distribution, s.security, s.type`

const escaped = (text: string) => text.replace(/[\\%_]/g, '\\$&')

/** The package of a source by name, version and architecture. */
export async function catalogEntry(
  db: Db,
  sourceId: number,
  { name, version, arch }: { name: string; version: string; arch: string },
): Promise<CatalogRow | null> {
  const row = await db
    .selectFrom('catalog')
    .selectAll()
    .where('source_id', '=', sourceId)
    .where('name', '=', name)
    .where('version', '=', version)
    .where('arch', '=', arch)
    .orderBy('path')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}
