// What people can ask about downloads: statistics of the last days, and who downloaded a package.
import type { FormatId } from '../../domain/package.ts'
import { ECOSYSTEMS } from '../../formats/index.ts'
import type { Settings } from '../../domain/settings.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import { dayOf } from '../../store/downloads/days.ts'
import {
  daysSince,
  eachDay,
  mostDownloaded,
  readLogs,
  recentDownloads,
  sumsSince,
  totalsByFormat,
  type DownloadTotals,
} from '../../store/downloads/download-query.ts'
import {
  clientDownloads,
  daysOfFiles,
  downloadedFiles,
  downloadedNames,
  latestOfName,
  recordKey,
  sumsOfFiles,
  sumsOfName,
  whoDownloaded,
  type BlastRadius,
  type FileFilter,
  type FileOfRecord,
} from '../../store/downloads/who-query.ts'
import { CLIENT_TYPES, type ClientType } from './client-type.ts'

export interface NameFilter extends FileFilter {
  name: string
  format?: FormatId | undefined
  days: number
}

export interface Downloads {
  stats(days: number): ReturnType<typeof statsOf>
  /** Downloads of a name; `pages` lists who downloaded it. */
  ofName(filter: NameFilter): ReturnType<typeof ofName>
  /** Who downloaded each of these records in the last days, by default `RADIUS_DAYS`. */
  radiusOf(
    records: readonly FileOfRecord[],
    days?: number,
  ): Promise<(record: FileOfRecord) => BlastRadius & { days: number }>
  /** Who downloaded a name in the last `RADIUS_DAYS` days, in any version and distribution. */
  radiusOfName(name: string, format: FormatId): Promise<BlastRadius & { days: number }>
  /** All downloads that were ever counted; these numbers never fall. */
  everCounted(): Promise<{ format: FormatId; downloads: number }[]>
}

interface Deps {
  db: Db
  clock: Clock
  settings(): Pick<Settings, 'retention'>
}

/** Days that the details of a package and the review queue look back. */
export const RADIUS_DAYS = 30
/** Most downloads of a record in these places, the latest ones. */
export const MOST_RADIUS = 20
/** Entries of each list of the statistics. */
export const MOST_LISTED = 50

export function createDownloads(deps: Deps): Downloads {
  return {
    stats: (days) => statsOf(deps, days),
    ofName: (filter) => ofName(deps, filter),
    async radiusOf(records, days = RADIUS_DAYS) {
      const found = await whoDownloaded(deps.db, records, rangeOf(deps, days).from, MOST_RADIUS)
      return (record) => ({ days, ...(found.get(recordKey(record)) ?? { ...NONE, downloaded_by: [] }) })
    },
    async radiusOfName(name, format) {
      const { from } = rangeOf(deps, RADIUS_DAYS)
      const [known] = await downloadedNames(deps.db, name, format)
      const sums = known ? await sumsOfName(deps.db, known.id, from) : NONE
      const downloaded_by = known ? await latestOfName(deps.db, known.id, from, MOST_RADIUS) : []
      return { days: RADIUS_DAYS, ...sums, downloaded_by }
    },
    everCounted: () => totalsByFormat(deps.db),
  }
}

/** The last days up to today, without days that retention has removed or is about to remove. */
function rangeOf({ clock, settings }: Deps, days: number): { from: number; today: number } {
  const today = dayOf(clock.now())
  return { from: Math.max(today - days + 1, today - settings().retention.access_log_days), today }
}

const NONE: DownloadTotals = { downloads: 0, bytes: 0, clients: 0 }

async function statsOf(deps: Deps, days: number) {
  const { db } = deps
  const { from, today } = rangeOf(deps, days)
  const [sums, logs, counted, perPackage, recent] = await Promise.all([
    sumsSince(db, from),
    readLogs(db, MOST_LISTED),
    daysSince(db, from),
    mostDownloaded(db, from, MOST_LISTED),
    recentDownloads(db, from, MOST_LISTED),
  ])
  const { downloads, bytes, clients } = sums.get('all') ?? NONE
  const perDay = eachDay(from, today, counted)
  const count = (counted: string) => sums.get(counted)?.downloads ?? 0
  const peak = perDay.reduce((best, day) => (day.downloads > best.downloads ? day : best), { date: '', downloads: 0 })
  return {
    days,
    summary: {
      total_downloads: downloads,
      unique_packages: sums.get('packages')?.clients ?? 0,
      unique_clients: clients,
      total_bytes: bytes,
      log_available: logs.length > 0,
      per_format: Object.fromEntries(ECOSYSTEMS.map((format) => [format, count(`format ${format}`)])),
      per_client_type: Object.fromEntries(CLIENT_TYPES.map((type) => [type, count(`client ${type}`)])) as Record<
        ClientType,
        number
      >,
      avg_per_day: Math.round((downloads / days) * 100) / 100,
      peak_day: peak.date === '' ? null : peak.date,
    },
    per_package: perPackage,
    per_day: perDay,
    recent: recent.map(({ at, address, agent, ...one }) => ({
      ...one,
      ip: address.split(' ', 1)[0] ?? '',
      reader: address.split(' ')[1] ?? null,
      date: isoTime(at),
      user_agent: agent,
    })),
    logs: logs.map(({ seen_at, ...log }) => ({ ...log, seen_at: isoTime(seen_at) })),
  }
}

async function ofName(deps: Deps, { name, format, days, ...filter }: NameFilter) {
  const { db } = deps
  const { from, today } = rangeOf(deps, days)
  // Names in different formats are different packages: by default the most recently downloaded one.
  const [known] = await downloadedNames(db, name, format)
  const head = { name, format: known?.format ?? format ?? null, days }
  if (!known) return { head: { ...head, ...NONE, per_day: eachDay(from, today, []) }, pages: none() }
  const files = await downloadedFiles(db, known.id, filter, from)
  const { version, distribution, arch } = filter
  const isWhole = (version ?? distribution ?? arch) === undefined
  const totals = isWhole ? await sumsOfName(db, known.id, from) : await sumsOfFiles(db, known.id, files, from)
  const per_day = eachDay(from, today, await daysOfFiles(db, files, from))
  return { head: { ...head, ...totals, per_day }, pages: clientDownloads(db, files, from) }
}

async function* none(): AsyncGenerator<never[]> {
  // Nobody downloaded it.
}
