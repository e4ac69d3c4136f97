// Looks up the requirements of packages to import: in the published packages and the catalogs of a distribution.
import { sql } from 'kysely'
import { Problem } from '../domain/problem.ts'
import { archsOf } from '../formats/architectures.ts'
import type { Placed } from '../formats/intake-format.ts'
import type { Db } from '../store/db.ts'
import type { CatalogRow, SourceRow } from '../store/tables.ts'
import type { PublishedOffer, ResolveIo } from './resolve.ts'
import { append } from '../kernel/append.ts'

/**
 * The enabled and synced sources that may meet requirements: those of the imported packages, and all others
 * whose target is the distribution.
 */
export async function sourcesFor(
  db: Db,
  { format, distribution }: Placed,
  ids: readonly number[],
): Promise<SourceRow[]> {
  return db
    .selectFrom('sources')
    .selectAll()
    .where('type', '=', format.repoFormat)
    .where('last_sync', 'is not', null)
    .where((eb) =>
      eb.or([
        eb('id', 'in', ids.length > 0 ? [...ids] : [-1]),
        eb.and([eb('target', '=', distribution.codename), eb('enabled', '=', true)]),
      ]),
    )
    .orderBy('id')
    .execute()
}

/**
 * @param sources catalogs that are searched
 * @param mirrored the source of the calling mirror: packages that it imported before are replaceable
 */
export function resolveIo(
  db: Db,
  { format, distribution }: Placed,
  sources: readonly SourceRow[],
  mirrored: number | null = null,
): ResolveIo<CatalogRow> {
  const ids = sources.map(({ id }) => id)
  const archs = archsOf(format, distribution)
  return {
    async published(names) {
      const { rows } = await sql<PublishedOffer & { name: string }>`
        select c.name, c.version, c.arch, c.multi_arch as "multiArch", p.name as package,
          p.import_method = 'mirror' and p.source_id is not distinct from ${mirrored}::bigint as replaceable
        from capabilities c join packages p on p.id = c.package_id
        where c.distribution = ${distribution.codename} and c.name = any(${[...names]}::text[])`.execute(db)
      const offers = new Map<string, PublishedOffer[]>()
      for (const { name, ...offer } of rows) {
        append(offers, name, offer)
      }
      return offers
    },
    async candidates(names) {
      const wanted = sql`${[...names]}::text[]`
      const where = sql`source_id = any(${ids}::bigint[]) and arch = any(${archs}::text[])`
      const { rows } = await sql<CatalogRow>`
        select * from catalog where name = any(${wanted}) and ${where}
        union all
        select * from catalog where provides @> any(${names.map((name) => JSON.stringify([{ name }]))}::jsonb[])
          and ${where} and name <> all(${wanted})`.execute(db)
      return rows
    },
  }
}

/**
 * The newest entry of a name that fits the distribution.
 * @param sourceId only of this source
 * @throws Problem('not_found'), 'index_empty' when no catalog can be searched
 */
export async function rootEntry(
  db: Db,
  { format, distribution }: Placed,
  { name, version, arch }: { name: string; version?: string | undefined; arch?: string | undefined },
  sourceId: number | undefined,
): Promise<CatalogRow> {
  const sources = await sourcesFor(db, { format, distribution }, sourceId === undefined ? [] : [sourceId])
  const searched = sourceId === undefined ? sources : sources.filter(({ id }) => id === sourceId)
  if (searched.length === 0)
    throw new Problem(
      'index_empty',
      `no synced source has packages for ${distribution.codename}`,
      sourceId === undefined ? {} : { source_id: sourceId },
    )
  const fitting = arch ? [arch] : archsOf(format, distribution)
  const rows = await db
    .selectFrom('catalog')
    .selectAll()
    .where('name', '=', name)
    .where(
      'source_id',
      'in',
      searched.map(({ id }) => id),
    )
    .where('arch', 'in', fitting)
    .$if(version !== undefined, (query) => query.where('version', '=', version ?? ''))
    .execute()
  const newest = rows.reduce<CatalogRow | null>(
    (best, row) => (best && format.versions.compare(best.version, row.version) >= 0 ? best : row),
    null,
  )
  if (newest) return newest
  throw new Problem('not_found', `no source of ${distribution.codename} offers ${name.slice(0, 200)}`)
}
