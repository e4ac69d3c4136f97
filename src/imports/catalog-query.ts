// Reads of what upstream repositories offer.
import { sql } from 'kysely'
import type { Requirement } from '../domain/package.ts'
import type { Db } from '../store/db.ts'
import type { CatalogRow } from '../store/tables.ts'

/** Characters of a description that a search shows. */
const SHOWN_CHARACTERS = 300

export interface CatalogSearch {
  /** part of a name, in any case */
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

/** Packages with that part in their names: the same name first, then those that begin with it, then the others. */
export async function searchCatalog(
  db: Db,
  { q, limit, sourceId, types, distribution }: CatalogSearch,
): Promise<{ total: number; results: FoundPackage[] }> {
  const text = q.toLowerCase()
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
  const where = sql.join(
    [
      sql`c.name like ${pattern}`,
      ...(sourceId === undefined ? [] : [sql`c.source_id = ${sourceId}`]),
      ...(types === undefined ? [] : [sql`s.type = any(${[...types]}::text[])`]),
      ...(distribution === undefined ? [] : [sql`s.distribution = ${distribution}`]),
    ],
    sql` and `,
  )
  const { rows } = await sql<FoundPackage & { total: number }>`
    with found as (select c.source_id, c.path, c.name, c.version from catalog c join sources s on s.id = c.source_id where ${where}),
    page as (select * from found order by name <> ${text}, not starts_with(name, ${text}), name, version, source_id, path limit ${limit})
    select (select count(*)::int from found) as total, c.name, c.version, c.arch, c.section, left(c.description, ${SHOWN_CHARACTERS}) as description,
      c.requirements, c.size_bytes, c.digest_algorithm, c.digest, c.source_id, c.synced_at, s.distribution, s.security, s.type
    from page join catalog c using (source_id, path) join sources s on s.id = c.source_id
    order by page.name <> ${text}, not starts_with(page.name, ${text}), page.name, page.version, source_id, path`.execute(
    db,
  )
  return { total: rows[0]?.total ?? 0, results: rows }
}

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
