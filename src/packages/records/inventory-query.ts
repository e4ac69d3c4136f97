// Offered records in pages of a fixed order, for documents that list all of them (SBOM, VEX).
import { sql } from 'kysely'
import type { Finding } from '../../domain/finding.ts'
import type { Requirement } from '../../domain/package.ts'
import type { Db } from '../../store/db.ts'
import type { DecisionRow, PackageRow } from '../../store/tables.ts'

/** A record with the digests of its bytes, without the columns that grow with its findings or files. */
export type InventoryRow = Pick<
  PackageRow,
  | 'id'
  | 'distribution'
  | 'format'
  | 'name'
  | 'version'
  | 'arch'
  | 'status'
  | 'served'
  | 'sha256'
  | 'filename'
  | 'size_bytes'
  | 'section'
  | 'description'
  | 'maintainer'
  | 'license'
  | 'url'
  | 'source_package'
  | 'source_version'
  | 'imported_at'
  | 'last_scan'
  | 'severities'
> & { sha512: string; sha1: string; md5: string }

const COLUMNS = sql`p.id, p.distribution, p.format, p.name, p.version, p.arch, p.status, o.package_id is not null as served, p.sha256, b.filename, b.size_bytes, b.section,
  b.description, b.maintainer, b.license, b.url, b.source_package, b.source_version, p.imported_at, p.last_scan, p.severities, b.sha512, b.sha1, b.md5`
const TABLES = sql`packages p join blobs b on b.sha256 = p.sha256 left join offers o on o.package_id = p.id and o.until_revision is null`

export interface InventoryFilter {
  distribution?: string | undefined
  /** only records with findings */
  withFindings?: boolean
}

type RecordIdentity = Pick<InventoryRow, 'distribution' | 'name' | 'version' | 'arch'>

/** Offered records by distribution, name, version and architecture. The cost of a page does not depend on its position. */
export async function* inventoryPages(
  db: Db,
  filter: InventoryFilter,
  pageSize: number,
): AsyncGenerator<InventoryRow[], void, void> {
  let last: RecordIdentity | null = null
  for (;;) {
    const rows: InventoryRow[] = await inventoryPage(db, filter, last, pageSize)
    if (rows.length > 0) yield rows
    if (rows.length < pageSize) return
    last = rows[rows.length - 1] as InventoryRow
  }
}

async function inventoryPage(
  db: Db,
  filter: InventoryFilter,
  after: RecordIdentity | null,
  limit: number,
): Promise<InventoryRow[]> {
  const where = sql.join(
    [
      sql`o.package_id is not null`,
      ...(filter.distribution === undefined ? [] : [sql`p.distribution = ${filter.distribution}`]),
      ...(filter.withFindings ? [sql`p.severities <> 0`] : []),
      ...(after
        ? [
            sql`(p.distribution, p.name, p.version, p.arch) > (${after.distribution}, ${after.name}, ${after.version}, ${after.arch})`,
          ]
        : []),
    ],
    sql` and `,
  )
  const { rows } = await sql<InventoryRow>`select ${COLUMNS} from ${TABLES}
    where ${where} order by p.distribution, p.name, p.version, p.arch limit ${limit}`.execute(db)
  return rows
}

/** Records by id, offered or not. */
export async function inventoryRows(db: Db, ids: readonly number[]): Promise<Map<number, InventoryRow>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<InventoryRow>`select ${COLUMNS} from ${TABLES}
    where p.id = any(${[...ids]}::bigint[])`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Number of offered records. */
export async function countOffered(db: Db, distribution: string | undefined): Promise<number> {
  const where = distribution === undefined ? sql`true` : sql`distribution = ${distribution}`
  const { rows } = await sql<{
    n: number
  }>`select count(*)::int as n from offers where until_revision is null and ${where}`.execute(db)
  return rows[0]?.n ?? 0
}

/** How many requirements each of these stored files has, by its SHA-256. */
export async function requirementCounts(db: Db, sha256s: readonly string[]): Promise<Map<string, number>> {
  if (sha256s.length === 0) return new Map()
  const { rows } = await sql<{ sha256: string; n: number }>`
    select sha256, jsonb_array_length(coalesce(facts->'requirements', '[]')) as n from blobs
    where sha256 = any(${[...new Set(sha256s)]}::text[])`.execute(db)
  return new Map(rows.map((row) => [row.sha256, row.n]))
}

/** The requirements of stored files, by SHA-256, without the rest of their facts. */
export async function requirementsOf(db: Db, sha256s: readonly string[]): Promise<Map<string, Requirement[]>> {
  const { rows } = await sql<{ sha256: string; requirements: Requirement[] | null }>`
    select sha256, facts->'requirements' as requirements from blobs where sha256 = any(${[...new Set(sha256s)]}::text[])`.execute(
    db,
  )
  return new Map(rows.map((row) => [row.sha256, row.requirements ?? []]))
}

export interface FindingRow {
  package_id: number
  finding: Finding
}

/** Findings of these records in pages, in the order of the ids, then by CVE. */
export async function* findingPages(
  db: Db,
  ids: readonly number[],
  pageSize: number,
): AsyncGenerator<FindingRow[], void, void> {
  if (ids.length === 0) return
  let last = { place: 0, cve: '' }
  for (;;) {
    const { rows } = await sql<FindingRow & { place: number; cve: string }>`
      select f.package_id, f.finding, wanted.place::int as place, f.cve from unnest(${[...ids]}::bigint[]) with ordinality as wanted (id, place)
      join findings f on f.package_id = wanted.id
      where (wanted.place, f.cve) > (${last.place}::bigint, ${last.cve}) order by wanted.place, f.cve limit ${pageSize}`.execute(
      db,
    )
    if (rows.length > 0) yield rows
    if (rows.length < pageSize) return
    last = rows[rows.length - 1] as (typeof rows)[number]
  }
}

/** For each vulnerability of the offered records, or of one record, its worst finding; ordered by CVE. */
export async function* vulnerabilityPages(
  db: Db,
  filter: { distribution?: string | undefined; packageId?: number },
  pageSize: number,
): AsyncGenerator<Finding[], void, void> {
  let last = ''
  const scope = sql.join(
    [
      ...(filter.packageId === undefined ? [] : [sql`f.package_id = ${filter.packageId}`]),
      ...(filter.distribution === undefined ? [] : [sql`f.distribution = ${filter.distribution}`]),
      sql`true`,
    ],
    sql` and `,
  )
  const isMeant = filter.packageId === undefined ? sql`o.package_id is not null` : sql`true`
  for (;;) {
    // The query reads the ids first, from their index: together with the findings, each page would sort all later rows.
    const { rows } = await sql<{ cve: string; finding: Finding | null }>`
      select page.cve, worst.finding from (select distinct f.cve from findings f where f.cve > ${last} and ${scope} order by f.cve limit ${pageSize}) page
      left join lateral (
        select f.finding from findings f left join offers o on o.package_id = f.package_id and o.until_revision is null where f.cve = page.cve and ${scope} and ${isMeant}
        order by f.risk desc, f.package_id limit 1) worst on true
      order by page.cve`.execute(db)
    const found = rows.flatMap((row) => row.finding ?? [])
    if (found.length > 0) yield found
    if (rows.length < pageSize) return
    last = (rows[rows.length - 1] as { cve: string }).cve
  }
}

/** Active decisions of existing records, oldest first. */
export async function* decisionPages(
  db: Db,
  distribution: string | undefined,
  pageSize: number,
): AsyncGenerator<(DecisionRow & { package_id: number })[], void, void> {
  let last = 0
  for (;;) {
    let query = db
      .selectFrom('decisions')
      .selectAll()
      .where('active', '=', true)
      .where('package_id', 'is not', null)
      .where('id', '>', last)
    if (distribution !== undefined) query = query.where('distribution', '=', distribution)
    const rows = await query.orderBy('id').limit(pageSize).execute()
    if (rows.length > 0) yield rows as (DecisionRow & { package_id: number })[]
    if (rows.length < pageSize) return
    last = (rows[rows.length - 1] as DecisionRow).id
  }
}
