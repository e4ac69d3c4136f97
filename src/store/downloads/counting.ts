// Adds downloads to the counters of their packages, files, clients and days.
import { sql } from 'kysely'
import type { Db } from '../db.ts'
import { fileKey, identified, NEVER, type DownloadedFile, type Given, type IdentifiedDownloads } from './identified.ts'

export interface RecentDownload {
  file: DownloadedFile
  at: Date
  address: string
  agent: string
  clientType: string
  path: string
  status: number
  bytes: number
}

/** Most rows of `recent_downloads`. */
const MOST_RECENT = 50

/**
 * Adds downloads in the caller's transaction. Only one such transaction runs at a time.
 * @param given each file, address, agent and day once
 * @param firstDay earlier days are about to be removed: they are not changed
 */
export async function addDownloads(
  tx: Db,
  given: readonly Given[],
  recent: readonly RecentDownload[],
  firstDay: number,
): Promise<void> {
  if (given.length === 0) return
  const rows = await identified(tx, given)
  const counts = countersOf(rows, firstDay)
  await factsOf(rows).execute(tx)
  await addDays(tx, 'download_days', 'counted', 'text', counts.days)
  await addDays(tx, 'download_package_days', 'package_id', 'bigint', counts.packages)
  await addDays(tx, 'download_file_days', 'file_id', 'bigint', counts.files)
  await seen(tx, 'download_clients', rows, (row) => row.client)
  await seen(tx, 'download_agents', rows, (row) => row.agent)
  await seen(tx, 'download_packages', rows, (row) => row.pkg)
  await seen(tx, 'download_files', rows, (row) => row.fileId)
  const totals = new Map<string, number>()
  for (const { given: one, downloads } of rows)
    totals.set(one.file.format, (totals.get(one.file.format) ?? 0) + downloads)
  await sql`insert into download_totals (format, downloads)
    select * from unnest(${[...totals.keys()]}::text[], ${[...totals.values()]}::bigint[]) as t (format, downloads) order by 1
    on conflict (format) do update set downloads = download_totals.downloads + excluded.downloads`.execute(tx)
  await addRecent(tx, rows, recent)
}

interface DayCount {
  downloads: number
  bytes: number
  latest: number
}

/** Counters of a kind by day and by what is counted. */
type Counters<K> = Map<K, Map<number, DayCount>>

/** What the batch adds to each counter. */
function countersOf(rows: readonly IdentifiedDownloads[], firstDay: number) {
  const days: Counters<string> = new Map()
  const packages: Counters<number> = new Map()
  const files: Counters<number> = new Map()
  const clientLast = new Map<string, number>()

  /** Moves a client or name from the last day on which it was seen to this day. */
  const move = <K>(counters: Counters<K>, counted: K, who: string, before: number, day: number) => {
    const last = clientLast.get(who) ?? before
    if (day <= last) return
    if (last >= firstDay) at(counters, counted, last).latest--
    at(counters, counted, day).latest++
    clientLast.set(who, day)
  }
  for (const { given, client, pkg, fileId, downloads, ...last } of rows) {
    const { day, file, clientType } = given
    const bytes = given.bytes
    for (const counted of ['all', `format ${file.format}`, `client ${clientType}`])
      add(days, counted, day, downloads, bytes)
    add(packages, pkg, day, downloads, bytes)
    add(files, fileId, day, downloads, bytes)
    move(days, 'all', `client ${client}`, last.clientLast, day)
    move(days, 'packages', `package ${pkg}`, last.packageLast, day)
    move(packages, pkg, `${client} of package ${pkg}`, last.ofPackageLast, day)
    move(files, fileId, `${client} of file ${fileId}`, last.ofFileLast, day)
  }
  return { days, packages, files }
}

function at<K>(counters: Counters<K>, counted: K, day: number): DayCount {
  let days = counters.get(counted)
  if (!days) counters.set(counted, (days = new Map<number, DayCount>()))
  let count = days.get(day)
  if (!count) days.set(day, (count = { downloads: 0, bytes: 0, latest: 0 }))
  return count
}

function add<K>(counters: Counters<K>, counted: K, day: number, downloads: number, bytes: number): void {
  const count = at(counters, counted, day)
  count.downloads += downloads
  count.bytes += bytes
}

function factsOf(rows: readonly IdentifiedDownloads[]) {
  return sql`insert into downloads (package_id, client_id, file_id, day, agent_id, downloads, bytes)
    select * from unnest(${rows.map((row) => row.pkg)}::bigint[], ${rows.map((row) => row.client)}::bigint[],
      ${rows.map((row) => row.fileId)}::bigint[], ${rows.map((row) => row.given.day)}::int[],
      ${rows.map((row) => row.agent)}::bigint[], ${rows.map((row) => row.downloads)}::int[],
      ${rows.map((row) => row.given.bytes)}::bigint[]) as t (p, c, f, day, a, n, bytes) order by 1, 2, 3, 4, 5
    on conflict (package_id, client_id, file_id, day, agent_id) do update
      set downloads = downloads.downloads + excluded.downloads, bytes = downloads.bytes + excluded.bytes`
}

async function addDays<K extends string | number>(
  tx: Db,
  table: 'download_days' | 'download_package_days' | 'download_file_days',
  column: string,
  type: 'text' | 'bigint',
  counters: Counters<K>,
): Promise<void> {
  const rows = [...counters].flatMap(([counted, days]) => [...days].map(([day, count]) => ({ counted, day, ...count })))
  const [into, by] = [sql.table(table), sql.ref(column)]
  await sql`insert into ${into} (${by}, day, downloads, bytes, latest)
    select * from unnest(${rows.map(({ counted }) => counted)}::${sql.raw(type)}[], ${rows.map(({ day }) => day)}::int[],
      ${rows.map((row) => row.downloads)}::bigint[], ${rows.map(({ bytes }) => bytes)}::bigint[],
      ${rows.map(({ latest }) => latest)}::bigint[]) as t (counted, day, downloads, bytes, latest) order by 2, 1
    on conflict (${by}, day) do update set downloads = ${into}.downloads + excluded.downloads,
      bytes = ${into}.bytes + excluded.bytes, latest = ${into}.latest + excluded.latest`.execute(tx)
}

async function seen(
  tx: Db,
  table: 'download_clients' | 'download_agents' | 'download_packages' | 'download_files',
  rows: readonly IdentifiedDownloads[],
  idOf: (row: IdentifiedDownloads) => number,
): Promise<void> {
  const last = new Map<number, number>()
  for (const row of rows) last.set(idOf(row), Math.max(last.get(idOf(row)) ?? NEVER, row.given.day))
  await sql`update ${sql.table(table)} as known set last_day = t.day
    from unnest(${[...last.keys()]}::bigint[], ${[...last.values()]}::int[]) as t (id, day)
    where known.id = t.id and known.last_day < t.day`.execute(tx)
}

async function addRecent(
  tx: Db,
  rows: readonly IdentifiedDownloads[],
  recent: readonly RecentDownload[],
): Promise<void> {
  if (recent.length === 0) return
  const ids = new Map(rows.map((row) => [fileKey(row.given.file), row.fileId]))
  await tx
    .insertInto('recent_downloads')
    .values(
      recent.slice(-MOST_RECENT).map(({ file, clientType, ...one }) => ({
        ...one,
        client_type: clientType,
        file_id: ids.get(fileKey(file)) as number,
      })),
    )
    .execute()
  await sql`delete from recent_downloads where (at, id) < (select at, id from recent_downloads
    order by at desc, id desc offset ${MOST_RECENT - 1} limit 1)`.execute(tx)
}
