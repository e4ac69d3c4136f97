// Downloads of the last days, from counters: totals, per package, per day.
import { sql } from 'kysely'
import { DAY_MS } from '../../domain/durations.ts'
import type { FormatId } from '../../domain/package.ts'
import type { Db } from '../db.ts'
import { dateOf } from './days.ts'

export interface DayDownloads {
  /** UTC, `2026-03-01` */
  date: string
  downloads: number
  bytes: number
}

export interface DownloadTotals {
  downloads: number
  bytes: number
  /** different addresses */
  clients: number
}

export interface PackageDownloads extends DownloadTotals {
  format: FormatId
  name: string
  /** downloaded versions, the latest download first */
  versions: string[]
}

/** Sums since a day, by what is counted. */
export async function sumsSince(db: Db, day: number): Promise<Map<string, DownloadTotals>> {
  const rows = await db
    .selectFrom('download_days')
    .select((eb) => [
      'counted',
      sum(eb.ref('downloads')).as('downloads'),
      sum(eb.ref('bytes')).as('bytes'),
      sum(eb.ref('latest')).as('clients'),
    ])
    .where('day', '>=', day)
    .groupBy('counted')
    .execute()
  return new Map(rows.map(({ counted, ...totals }) => [counted, totals]))
}

const sum = (column: unknown) => sql<number>`coalesce(sum(${column}), 0)::bigint`

/** Every day of a range, oldest first; days without a download have zeros. */
export function eachDay(
  from: number,
  to: number,
  rows: readonly { day: number; downloads: number; bytes: number }[],
): DayDownloads[] {
  const byDay = new Map(rows.map(({ day, downloads, bytes }) => [day, { downloads, bytes }]))
  const none = { downloads: 0, bytes: 0 }
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => ({
    date: dateOf(from + i),
    ...(byDay.get(from + i) ?? none),
  }))
}

/** All downloads on each day since a day. */
export function daysSince(db: Db, day: number) {
  return db
    .selectFrom('download_days')
    .select(['day', 'downloads', 'bytes'])
    .where('counted', '=', 'all')
    .where('day', '>=', day)
    .execute()
}

const MOST_VERSIONS = 20

/** The most downloaded names since a day. */
export async function mostDownloaded(db: Db, day: number, most: number): Promise<PackageDownloads[]> {
  const { rows } = await sql<PackageDownloads>`
    with top as (
      select package_id, sum(downloads)::bigint as downloads, sum(bytes)::bigint as bytes, sum(latest)::bigint as clients
      from download_package_days where day >= ${day} group by package_id
      order by 2 desc, package_id limit ${most})
    select p.format, p.name, top.downloads, top.bytes, top.clients,
      array(select version from download_files f where f.package_id = top.package_id and f.last_day >= ${day}
        group by version order by max(last_day) desc, max(id) desc limit ${MOST_VERSIONS}) as versions
    from top join download_packages p on p.id = top.package_id order by top.downloads desc, p.name`.execute(db)
  return rows
}

/** The last downloads since a day, newest first, as they were logged. */
export async function recentDownloads(db: Db, day: number, most: number) {
  return db
    .selectFrom('recent_downloads as r')
    .innerJoin('download_files as f', 'f.id', 'r.file_id')
    .innerJoin('download_packages as p', 'p.id', 'f.package_id')
    .select(['r.at', 'r.address', 'r.agent', 'r.client_type', 'r.path', 'r.status', 'r.bytes'])
    .select(['f.filename', 'f.version', 'f.arch', 'f.distribution', 'p.name', 'p.format'])
    .where('r.at', '>=', new Date(day * DAY_MS))
    .orderBy('r.at', 'desc')
    .orderBy('r.id', 'desc')
    .limit(most)
    .execute()
}

/** The logs that were read, most recently seen first. */
export async function readLogs(db: Db, most: number) {
  return db
    .selectFrom('download_logs')
    .select(['path', 'kind', 'lines', 'unreadable', 'unknown', 'seen_at'])
    .orderBy('seen_at', 'desc')
    .orderBy('id', 'desc')
    .limit(most)
    .execute()
}

/** Downloads ever counted, by format. */
export async function totalsByFormat(db: Db): Promise<{ format: FormatId; downloads: number }[]> {
  return db.selectFrom('download_totals').selectAll().orderBy('format').execute()
}
