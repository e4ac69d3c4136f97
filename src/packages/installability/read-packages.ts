// Reads the packages of a universe from the database, page by page, as the JSON that the thread parses.
import { sql, type RawBuilder } from 'kysely'
import type { HeldStatus } from '../../domain/installability.ts'
import type { Selector } from '../../formats/installation/messages.ts'
import type { Db } from '../../store/db.ts'

/** Packages in one page: some 700 kB of JSON for Debian's. */
const PAGE = 500
/** Most bytes of their relations in the database, compressed; a package with more is a page of its own. */
const PAGE_BYTES = 4 * 1024 * 1024

/** A source whose catalog contains packages for a distribution. */
export interface CatalogSource {
  id: number
  name: string
  last_sync: Date
}

/** The size of the earlier rows of the page. Reads no value that is stored out of line. */
const before = (size: RawBuilder<unknown>, order: RawBuilder<unknown>) =>
  sql<number>`(sum(${size}) over (order by ${order}) - (${size}))`

interface Page {
  packages: string | null
  last: string | null
}

/**
 * The published packages of a distribution for these architectures, as pages of JSON.
 * @param only names; all without it
 */
export async function* publishedPackages(
  db: Db,
  codename: string,
  archs: readonly string[],
  only?: readonly string[],
): AsyncGenerator<string> {
  yield* recordPages(
    db,
    sql`p.distribution = ${codename} and p.arch = any(${[...archs]}::text[])
      and ${only ? sql`p.name = any(${[...only]}::text[])` : sql`true`} and ${OFFERED}`,
  )
}

const OFFERED = sql`exists (select from offers o
  where o.package_id = p.id and o.distribution = p.distribution and o.until_revision is null)`

/** @param where condition on `packages p` */
async function* recordPages(db: Db, where: RawBuilder<unknown>): AsyncGenerator<string> {
  for (let after = '0'; ;) {
    const { rows } = await sql<Page>`with first as (
        select p.id, p.name, p.version, p.arch, b.facts from packages p join blobs b on b.sha256 = p.sha256
        where p.id > ${after}::bigint and ${where}
        order by p.id limit ${PAGE}
      ), page as (select *, ${before(sql`pg_column_size(facts)`, sql`id`)} as before from first)
      select json_agg(json_build_array(name, version, arch, facts->'multiArch', facts->'requirements', facts->'provides') order by id)::text as packages,
        max(id)::text as last from page where before < ${PAGE_BYTES}`.execute(db)
    const [page] = rows
    if (!page?.packages || page.last === null) return
    yield page.packages
    after = page.last
  }
}

/** The records of a distribution with this status that it does not offer, as pages of JSON. */
export const heldPackages = (db: Db, codename: string, archs: readonly string[], status: HeldStatus) =>
  recordPages(
    db,
    sql`p.distribution = ${codename} and p.arch = any(${[...archs]}::text[]) and p.status = ${status} and not ${OFFERED}`,
  )

/** The packages of a catalog for these architectures, as pages of JSON. @param only names; all without it */
export async function* catalogPackages(
  db: Db,
  sourceId: number,
  archs: readonly string[],
  only?: readonly string[],
): AsyncGenerator<string> {
  for (let after = ''; ;) {
    const { rows } = await sql<Page>`with first as (
        select path, name, version, arch, requirements, provides from catalog
        where source_id = ${sourceId} and path > ${after}
          and ${only ? sql`name = any(${[...only]}::text[])` : sql`true`}
        order by path limit ${PAGE}
      ), page as (
        select *, ${before(sql`pg_column_size(requirements) + pg_column_size(provides)`, sql`path`)} as before from first)
      select coalesce(json_agg(json_build_array(name, version, arch, null, requirements, provides) order by path)
          filter (where arch = any(${[...archs]}::text[])), '[]')::text as packages,
        max(path) as last from page where before < ${PAGE_BYTES}`.execute(db)
    const [page] = rows
    if (!page?.packages || page.last === null) return
    yield page.packages
    after = page.last
  }
}

/** The enabled sources that were synced and whose packages are for the distribution. */
export async function catalogSources(
  db: Db,
  codename: string,
  { repoFormat }: { repoFormat: string },
): Promise<CatalogSource[]> {
  const { rows } = await sql<CatalogSource>`select id, name, last_sync from sources
    where type = ${repoFormat} and enabled and last_sync is not null
      and target = ${codename}
    order by id`.execute(db)
  return rows
}

/** Keeps the packages of a page that a selector names; for the packages that a plan adds. */
export function selected(packages: string, selectors: readonly Selector[]): string {
  const list = JSON.parse(packages) as [string, string, string, ...unknown[]][]
  return JSON.stringify(
    list.filter(([name, version, arch]) =>
      selectors.some((one) => one.name === name && (one.version ?? version) === version && (one.arch ?? arch) === arch),
    ),
  )
}
