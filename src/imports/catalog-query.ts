// Reads of what upstream repositories offer.
import { sql } from 'kysely'
import type { Requirement } from '../domain/package.ts'
import type { Db } from '../store/db.ts'
import { escapedForLike } from '../store/records/search-text.ts'
import type { CatalogRow } from '../store/tables.ts'
import { findNames, wordsOf, type FoundName } from './name-search.ts'

/** Characters of a description that a search shows. */
const SHOWN_CHARACTERS = 300

export interface CatalogSearch {
  /** words that are parts of one name, in any case, or the whole name of something that packages provide */
  q: string
  limit: number
  sourceId?: number | undefined
  /** the types of sources that are searched */
  types?: readonly string[] | undefined
  /** suite of the sources */
  distribution?: string | undefined
}

/** A file under one name and version, which one or several sources offer. Its other fields are from the first source. */
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
  /** the source of each package that is this file, `source_id` first */
  source_ids: number[]
}

export interface FoundSource {
  id: number
  distribution: string | null
  security: boolean
}

/**
 * Packages with those words in their names, and those that provide exactly that name. Packages of exactly that name are first,
 * then those that provide it, then names that begin with the first word, then the others. `total` is exact and counts the
 * packages of each source; one entry of `results` can be several of them. `sources` are all that were searched.
 */
export async function searchCatalog(
  db: Db,
  { q, limit, sourceId, types, distribution }: CatalogSearch,
): Promise<{ total: number; results: FoundPackage[]; sources: FoundSource[] }> {
  const sources = await db
    .selectFrom('sources')
    .select(['id', 'distribution', 'security'])
    .where('last_sync', 'is not', null)
    .$if(sourceId !== undefined, (query) => query.where('id', '=', sourceId!))
    .$if(types !== undefined, (query) => query.where('type', 'in', [...types!]))
    .$if(distribution !== undefined, (query) => query.where('distribution', '=', distribution!))
    .execute()
  const ids = sources.map(({ id }) => id)
  const words = wordsOf(q)
  if (words.length === 0) return { total: 0, results: [], sources }
  const named = await findNames(db, words, ids, limit)
  const providers = await findProviders(db, q.trim(), words, ids, limit)
  const isSame = ({ folded }: FoundName) => words.length === 1 && folded === words[0]
  const same = await packagesOf(db, named.first.filter(isSame), ids, limit)
  const others = named.first.filter((one) => !isSame(one))
  const more = limit - same.length - providers.first.length
  const results = [...same, ...providers.first, ...(more > 0 ? await packagesOf(db, others, ids, more) : [])]
  return { total: named.total + providers.total, results: results.slice(0, limit), sources }
}

/** Packages that provide the name and do not have the words in their own. */
async function findProviders(
  db: Db,
  name: string,
  words: readonly string[],
  ids: number[],
  limit: number,
): Promise<{ total: number; first: FoundPackage[] }> {
  const patterns = words.map((word) => `%${escapedForLike(word)}%`)
  const { rows } = await sql<FoundPackage & { total: number }>`with lines as (
      select (sum(count(*)) over ())::int as total, c.name, c.version, ${SAME_FILE}
      from catalog c join sources s on s.id = c.source_id
      where c.provides @> ${JSON.stringify([{ name }])}::jsonb and c.source_id = any(${ids}::bigint[])
        and not lower(c.name) like all (${patterns}::text[])
      group by c.name, c.version, ${FILE} order by c.name collate "C", ids, c.version, path limit ${limit})
    select l.total, ${SHOWN} from lines l ${FIRST_OF_LINE} order by c.name collate "C", l.ids, c.version, l.path`.execute(
    db,
  )
  return { total: rows[0]?.total ?? 0, first: rows }
}

/** The packages with these names, in the order of the names. */
async function packagesOf(db: Db, names: readonly FoundName[], ids: number[], limit: number): Promise<FoundPackage[]> {
  if (names.length === 0) return []
  const { rows } = await sql<FoundPackage>`with lines as (
      select n.place, c.version, ${SAME_FILE}
      from unnest(${names.map(({ name }) => name)}::text[]) with ordinality as n (name, place)
        join catalog c on c.name = n.name and c.source_id = any(${ids}::bigint[]) join sources s on s.id = c.source_id
      group by n.place, c.version, ${FILE} order by n.place, c.version, ids, path limit ${limit})
    select ${SHOWN} from lines l ${FIRST_OF_LINE} order by l.place, c.version, l.ids, l.path`.execute(db)
  return rows
}

/** Different files under one version are separate results: which one is imported matters then. */
const FILE = sql`c.arch, s.type, c.digest_algorithm, c.digest`
const SAME_FILE = sql`array_agg(c.source_id order by c.source_id, c.path) as ids,
  (array_agg(c.path order by c.source_id, c.path))[1] as path`
const FIRST_OF_LINE = sql`join catalog c on c.source_id = l.ids[1] and c.path = l.path join sources s on s.id = c.source_id`

const SHOWN = sql`c.name, c.version, c.arch, c.section, left(c.description, ${sql.lit(SHOWN_CHARACTERS)}) as description,
  c.requirements, c.size_bytes, c.digest_algorithm, c.digest, c.source_id, c.synced_at, s.distribution, s.security, s.type,
  to_jsonb(l.ids) as source_ids`

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
