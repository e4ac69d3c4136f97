// Who downloaded a package: addresses and user agents, from the rows of its files. Reads no rows of other packages.
import { sql } from 'kysely'
import type { FormatId } from '../../domain/package.ts'
import type { Db } from '../db.ts'
import { dateOf } from './days.ts'
import type { DownloadTotals } from './download-query.ts'

/** Downloads of one file by a client with one user agent on one day. */
export interface ClientDownload {
  ip: string
  /** who signed in: `machine:web-01` */
  reader: string | null
  user_agent: string
  client_type: string
  distribution: string
  version: string
  arch: string
  /** UTC */
  date: string
  downloads: number
  bytes: number
}

export interface BlastRadius extends DownloadTotals {
  /** the latest downloads */
  downloaded_by: ClientDownload[]
}

/** A file of a distribution. */
export interface FileOfRecord {
  distribution: string
  sha256: string
}

export const recordKey = ({ distribution, sha256 }: FileOfRecord) => `${distribution} ${sha256}`

interface FoundRow extends Omit<ClientDownload, 'date'> {
  file_id: number
  day: number
  client_id: number
  agent_id: number
}

const COLUMNS = sql`d.file_id, d.day, d.client_id, d.agent_id, d.downloads, d.bytes, split_part(c.address, ' ', 1) as ip,
  nullif(split_part(c.address, ' ', 2), '') as reader, a.agent as user_agent,
  a.client_type, f.distribution, f.version, f.arch`
const NAMED = sql`join download_clients c on c.id = d.client_id join download_agents a on a.id = d.agent_id`

const shown = ({
  ip,
  reader,
  user_agent,
  client_type,
  distribution,
  version,
  arch,
  day,
  downloads,
  bytes,
}: FoundRow) => ({
  ...{ ip, reader, user_agent, client_type, distribution, version, arch, date: dateOf(day), downloads, bytes },
})

/** The blast radius of records since a day, by `recordKey`; records that nobody downloaded are missing. */
export async function whoDownloaded(
  db: Db,
  records: readonly FileOfRecord[],
  day: number,
  most: number,
): Promise<Map<string, BlastRadius>> {
  if (records.length === 0) return new Map()
  const wanted = sql`unnest(${records.map(({ distribution }) => distribution)}::text[],
    ${records.map(({ sha256 }) => sha256)}::text[]) as t (distribution, sha256)`
  const { rows: totals } = await sql<FileOfRecord & DownloadTotals>`
    select f.distribution, f.sha256, sum(n.downloads)::bigint as downloads, sum(n.bytes)::bigint as bytes,
      sum(n.latest)::bigint as clients
    from ${wanted} join download_files f using (distribution, sha256) join download_file_days n on n.file_id = f.id
    where n.day >= ${day} group by f.id, f.distribution, f.sha256`.execute(db)
  const { rows } = await sql<FoundRow & { sha256: string }>`
    select ${COLUMNS}, f.sha256 from ${wanted} join download_files f using (distribution, sha256)
    cross join lateral (select * from downloads where file_id = f.id and day >= ${day}
      order by file_id desc, day desc, client_id desc, agent_id desc limit ${most}) d
    ${NAMED} order by f.id, d.day desc, d.client_id desc, d.agent_id desc`.execute(db)
  const found = new Map<string, BlastRadius>()
  for (const { distribution, sha256, ...one } of totals)
    found.set(recordKey({ distribution, sha256 }), { ...one, downloaded_by: [] })
  for (const row of rows) found.get(recordKey(row))?.downloaded_by.push(shown(row))
  return found
}

/** Most files of a name whose latest downloads are read. */
const MOST_FILES = 50

/** The latest downloads of a name since a day, from its most recently downloaded files. */
export async function latestOfName(db: Db, packageId: number, day: number, most: number): Promise<ClientDownload[]> {
  const { rows } = await sql<FoundRow>`
    select ${COLUMNS} from (select * from download_files where package_id = ${packageId} and last_day >= ${day}
      order by last_day desc, id desc limit ${MOST_FILES}) f
    cross join lateral (select * from downloads where file_id = f.id and day >= ${day}
      order by file_id desc, day desc, client_id desc, agent_id desc limit ${most}) d
    ${NAMED} order by d.day desc, f.id desc, d.client_id desc, d.agent_id desc limit ${most}`.execute(db)
  return rows.map(shown)
}

export interface DownloadedName {
  id: number
  format: FormatId
  name: string
}

/** The names of packages that were downloaded, of one format or of all. */
export async function downloadedNames(db: Db, name: string, format?: FormatId): Promise<DownloadedName[]> {
  let query = db.selectFrom('download_packages').select(['id', 'format', 'name']).where('name', '=', name)
  if (format !== undefined) query = query.where('format', '=', format)
  return query.orderBy('last_day', 'desc').orderBy('id').execute()
}

export interface FileFilter {
  version?: string | undefined
  distribution?: string | undefined
  arch?: string | undefined
}

/** Ids of the files of a name that were downloaded since a day. */
export async function downloadedFiles(db: Db, packageId: number, filter: FileFilter, day: number): Promise<number[]> {
  let query = db
    .selectFrom('download_files')
    .select('id')
    .where('package_id', '=', packageId)
    .where('last_day', '>=', day)
  for (const column of ['version', 'distribution', 'arch'] as const)
    if (filter[column] !== undefined) query = query.where(column, '=', filter[column])
  return (await query.orderBy('id').execute()).map(({ id }) => id)
}

/** Sums of a name since a day. */
export async function sumsOfName(db: Db, packageId: number, day: number): Promise<DownloadTotals> {
  const { rows } = await sql<DownloadTotals>`
    select coalesce(sum(downloads), 0)::bigint as downloads, coalesce(sum(bytes), 0)::bigint as bytes,
      coalesce(sum(latest), 0)::bigint as clients
    from download_package_days where package_id = ${packageId} and day >= ${day}`.execute(db)
  return rows[0] as DownloadTotals
}

/** Sums of some files of one name since a day. A client of several files counts once, so the clients' rows are read. */
export async function sumsOfFiles(
  db: Db,
  packageId: number,
  files: readonly number[],
  day: number,
): Promise<DownloadTotals> {
  const { rows } = await sql<DownloadTotals>`
    select coalesce(sum(downloads), 0)::bigint as downloads, coalesce(sum(bytes), 0)::bigint as bytes,
      count(distinct client_id)::bigint as clients
    from downloads where package_id = ${packageId} and file_id = any(${[...files]}::bigint[]) and day >= ${day}`.execute(
    db,
  )
  return rows[0] as DownloadTotals
}

/** The downloads of some files on each day since a day. */
export async function daysOfFiles(db: Db, files: readonly number[], day: number) {
  const { rows } = await sql<{ day: number; downloads: number; bytes: number }>`
    select day, sum(downloads)::bigint as downloads, sum(bytes)::bigint as bytes from download_file_days
    where file_id = any(${[...files]}::bigint[]) and day >= ${day} group by day`.execute(db)
  return rows
}

const PAGE = 1000

/** All downloads of some files since a day, file by file, the latest of each first. */
export async function* clientDownloads(
  db: Db,
  files: readonly number[],
  day: number,
): AsyncGenerator<ClientDownload[]> {
  for (const file of files) {
    let after = [2_147_483_647, 0, 0]
    for (;;) {
      const { rows } = await sql<FoundRow>`
        select ${COLUMNS} from (select * from downloads where file_id = ${file} and day >= ${day}
          and (day, client_id, agent_id) < (${after[0]}::int, ${after[1]}::bigint, ${after[2]}::bigint)
          order by file_id desc, day desc, client_id desc, agent_id desc limit ${PAGE}) d
        join download_files f on f.id = d.file_id ${NAMED}
        order by d.day desc, d.client_id desc, d.agent_id desc`.execute(db)
      yield rows.map(shown)
      const last = rows.at(-1)
      if (!last || rows.length < PAGE) break
      after = [last.day, last.client_id, last.agent_id]
    }
  }
}
