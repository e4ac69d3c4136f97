// Counted downloads.
import type { Generated } from 'kysely'
import type { FormatId } from '../../domain/package.ts'

/** An access log that was read, up to `position`; known by its beginning, whatever its name. */
export interface DownloadLogsTable {
  id: Generated<number>
  /** SHA-256 of its first line */
  first_line: string
  /** whole lines at its beginning that were digested, in bytes, and their SHA-256 */
  head_bytes: number
  head_digest: string
  /** the name it was seen under last */
  path: string
  kind: DownloadLogKind
  /** bytes that were read, unpacked; always the end of a line */
  position: Generated<number>
  lines: Generated<number>
  unreadable: Generated<number>
  /** answered requests for packages that no distribution is known to have offered */
  unknown: Generated<number>
  seen_at: Date
}

/** `listeners`: written by our own; `nginx`: by nginx in front of them. */
export type DownloadLogKind = 'listeners' | 'nginx'

/** Which of them count. */
export type CountedLogs = DownloadLogKind | 'both'

/** Which logs count, from a time on. */
export interface DownloadLogChoicesTable {
  /** seconds since 1970 */
  since: number
  kind: CountedLogs
}

export interface DownloadClientsTable {
  id: Generated<number>
  address: string
  last_day: number
}

export interface DownloadAgentsTable {
  id: Generated<number>
  agent: string
  client_type: string
  last_day: number
}

/** A name that was downloaded. */
export interface DownloadPackagesTable {
  id: Generated<number>
  format: FormatId
  name: string
  last_day: number
}

/** A file of a distribution that was downloaded; stays when its record is deleted. */
export interface DownloadFilesTable {
  id: Generated<number>
  package_id: number
  distribution: string
  sha256: string
  filename: string
  version: string
  arch: string
  size_bytes: number
  last_day: number
}

/** What a client with one user agent downloaded of a file on a day. */
export interface DownloadsTable {
  package_id: number
  client_id: number
  file_id: number
  /** UTC, days since 1970 */
  day: number
  agent_id: number
  /** 0 for the rest of a download that began the day before */
  downloads: number
  bytes: number
}

interface DownloadCounts {
  /** UTC, days since 1970 */
  day: number
  downloads: number
  bytes: number
  /** clients (of `packages`: names) whose last download was on this day */
  latest: number
}

/** `all`, `packages`, `format <id>`, `client <type>` */
export interface DownloadDaysTable extends DownloadCounts {
  counted: string
}

export interface DownloadPackageDaysTable extends DownloadCounts {
  package_id: number
}

export interface DownloadFileDaysTable extends DownloadCounts {
  file_id: number
}

/** Downloads ever counted. */
export interface DownloadTotalsTable {
  format: FormatId
  downloads: number
}

/** The last ones, as they were logged. */
export interface RecentDownloadsTable {
  id: Generated<number>
  at: Date
  file_id: number
  address: string
  agent: string
  client_type: string
  path: string
  status: number
  bytes: number
}
