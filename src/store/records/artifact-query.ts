// Reads for /artifacts: pages of names, and the records of one name.
import { sql, type SelectQueryBuilder } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import type { Db } from '../db.ts'
import type { Tables } from '../tables.ts'
import { escapedForLike } from './search-text.ts'
import { isAmong, storedAs } from './stored-as.ts'
import type { Totals } from './totals.ts'

export interface ArtifactFilter {
  /** part of name or description; or a file of one of its versions, see `storedAs` */
  search?: string | undefined
  distribution?: string | undefined
  status?: string | undefined
  format?: string | undefined
  arch?: string | undefined
}

export const ARTIFACT_SORTS = ['name', '-name', 'imported_at', '-imported_at'] as const
export type ArtifactSort = (typeof ARTIFACT_SORTS)[number]

/** The columns of a record that the list shows: none whose size depends on its findings, its dependencies or its texts. */
const LISTED_COLUMNS = [
  'id',
  'name',
  'format',
  'version',
  'arch',
  'distribution',
  'status',
  'cve_status',
  'served',
  'imported_at',
  'imported_by',
  'sha256',
  'size_bytes',
  'section',
  'cve_summary',
] as const

/** Characters of a description that lists show. A package may bring megabytes, and a page has up to 200 packages. */
const LISTED_CHARACTERS = 300
/** Missing dependencies that lists show. */
const LISTED_MISSING = 20
/** Versions of a name that lists show, the latest arrivals: a name may have thousands, and a page has 200 names. */
export const LISTED_VERSIONS = 100

/** One page of names, each with its latest record, its versions and its distributions. */
export async function artifactPage(
  db: Db,
  totals: Totals,
  filter: ArtifactFilter,
  sort: ArtifactSort,
  at: { page: number; perPage: number },
) {
  let query = db.selectFrom('artifacts')
  const stored = filter.search ? await storedAs(db, filter.search) : null
  if (stored) query = query.where(isAmong(stored))
  else if (filter.search)
    query = query.where('artifacts.search', 'like', `%${escapedForLike(filter.search.toLowerCase())}%`)
  if (filter.distribution) query = query.where(sql<boolean>`${filter.distribution} = any(artifacts.distributions)`)
  if (filter.status) query = query.where(sql<boolean>`artifacts.statuses @> ${[filter.status]}::text[]`)
  if (filter.arch) query = query.where(sql<boolean>`${filter.arch} = any(artifacts.archs)`)
  if (filter.format) query = query.where('artifacts.format', '=', filter.format)
  const { search, distribution, status, format, arch } = filter
  const total = await totals.of(JSON.stringify([search, distribution, status, format, arch]), async () => {
    const { n } = await query.select((eb) => eb.fn.countAll<number>().as('n')).executeTakeFirstOrThrow()
    return n
  })
  const skipped = (at.page - 1) * at.perPage
  const limit = Math.min(at.perPage, total - skipped)
  if (limit <= 0) return { items: [], total }
  // The offset is skipped in the index alone, from the nearer end; rows and records are read for one page only.
  const fromEnd = skipped > total / 2
  const places = inOrder(
    query.select(['artifacts.name', 'artifacts.format', 'artifacts.latest_imported_at']),
    sort,
    fromEnd,
  )
    .limit(limit)
    .offset(fromEnd ? total - skipped - limit : skipped)
  const joined = db
    .selectFrom(places.as('place'))
    .innerJoin('artifacts', (join) =>
      join.onRef('artifacts.name', '=', 'place.name').onRef('artifacts.format', '=', 'place.format'),
    )
    .select(['artifacts.name', 'artifacts.format', 'artifacts.latest_id', 'artifacts.distributions'])
  const names = await inOrder(joined, sort).execute()
  if (names.length === 0) return { items: [], total }
  const latest = await db
    .selectFrom('records')
    .select(LISTED_COLUMNS)
    .select([
      sql<string | null>`left(description, ${LISTED_CHARACTERS})`.as('description'),
      sql<string[]>`jsonb_path_query_array(deps_missing, ${`$[0 to ${LISTED_MISSING - 1}]`}::jsonpath)`.as(
        'deps_missing',
      ),
    ])
    .where(
      'id',
      'in',
      names.map((row) => row.latest_id),
    )
    .execute()
  const versions = await versionsOf(db, names)
  const byId = new Map(latest.map((row) => [row.id, row]))
  return {
    total,
    items: names.flatMap((row) => {
      const record = byId.get(row.latest_id)
      const known = versions.filter((v) => v.name === row.name && v.format === row.format)
      const shown = { versions: known.map((v) => v.version), versionsTotal: known[0]?.total ?? 0 }
      return record ? [{ record, ...shown, distributions: row.distributions }] : []
    }),
  }
}

interface ListedVersion {
  name: string
  format: FormatId
  version: string
  /** versions of the name in this format */
  total: number
}

async function versionsOf(db: Db, names: readonly Pick<ListedVersion, 'name' | 'format'>[]): Promise<ListedVersion[]> {
  const { rows } = await sql<ListedVersion>`select n.name, n.format, v.version, v.total
    from unnest(${names.map((one) => one.name)}::text[], ${names.map((one) => one.format)}::text[]) as n (name, format)
      cross join lateral (select p.version, (count(*) over ())::int as total from packages p
        where p.name = n.name and p.format = n.format
        group by p.version order by max(p.id) desc limit ${LISTED_VERSIONS}) v`.execute(db)
  return rows
}

/** @param reversed reads from the end */
function inOrder<T extends 'artifacts', O>(
  query: SelectQueryBuilder<Tables, T, O>,
  sort: ArtifactSort,
  reversed = false,
): SelectQueryBuilder<Tables, T, O> {
  const direction = sort.startsWith('-') === reversed ? 'asc' : 'desc'
  const columns = [sort.endsWith('name') ? 'name' : 'latest_imported_at', 'name', 'format']
  return columns.reduce((ordered, column) => ordered.orderBy(sql.ref(`artifacts.${column}`), direction), query)
}

/** Selects the records that a request for `{name}/{version}` addresses. */
export interface RecordSelector {
  name: string
  version?: string | undefined
  format?: string | undefined
  distribution?: string | undefined
  arch?: string | undefined
}

/**
 * The records that a selector matches, in the order of their ids. The caller selects the columns that it needs: the
 * findings of one record may take megabytes, and a name may have many records.
 */
export function matchingRecords(db: Db, selector: RecordSelector) {
  let query = db.selectFrom('records').where('name', '=', selector.name)
  if (selector.version !== undefined) query = query.where('version', '=', selector.version)
  if (selector.format !== undefined) query = query.where('format', '=', selector.format)
  if (selector.distribution !== undefined) query = query.where('distribution', '=', selector.distribution)
  if (selector.arch !== undefined) query = query.where('arch', '=', selector.arch)
  return query.orderBy('id')
}

/** The matching records with the number of their findings. */
export function countedRecords(db: Db, selector: RecordSelector) {
  return matchingRecords(db, selector)
    .select(['id', 'distribution', 'arch', 'status', 'risk'])
    .select(sql<number>`coalesce(jsonb_array_length(cve_results), 0)`.as('total'))
    .execute()
}

/** The columns of all records of a name that lists and ordering need. */
export function headRows(db: Db, selector: RecordSelector) {
  return matchingRecords(db, selector)
    .select([
      'id',
      'name',
      'version',
      'arch',
      'distribution',
      'format',
      'status',
      'cve_status',
      'served',
      'imported_at',
      'imported_by',
    ])
    .execute()
}

/** Full records in the order of the ids; ids that are gone are left out. */
export async function recordsOf(db: Db, ids: readonly number[]) {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('records').selectAll().where('id', 'in', ids).execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}
