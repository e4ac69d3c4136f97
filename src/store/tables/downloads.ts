// Counted downloads.
import type { Generated } from 'kysely'
import type { FormatId } from '../../domain/package.ts'

/** An access log that was read up to `position`; identified by its beginning, whatever its name. */
export interface DownloadLogsTable {
  id: Generated<number>
  /** SHA-256 of its first line */
  first_line: string
  /** whole lines at its beginning: their length in bytes, and their SHA-256 */
  head_bytes: number
  head_digest: string
  /** the name under which it was last seen */
  path: string
  kind: DownloadLogKind
  /** unpacked bytes that were read; always the end of a line */
  position: Generated<number>
  lines: Generated<number>
  unreadable: Generated<number>
  /** answered requests for packages that no known distribution has offered */
  unknown: Generated<number>
  seen_at: Date
}

/** `listeners`: logs of our own listeners; `nginx`: logs of nginx in front of them. */
export type DownloadLogKind = 'listeners' | 'nginx'

/** Which kinds of logs count. */
export type CountedLogs = DownloadLogKind | 'both'

/** Which kinds of logs count from a time on. */
export interface DownloadLogChoicesTable {
  /** seconds since 1970 */
  since: number
  kind: CountedLogs
}

export interface DownloadClientsTable {
  id: Generated<number>
  /** and after a blank who signed in there: `192.0.2.7 machine:web-01` */
  address: string
  last_day: number
}

export interface DownloadAgentsTable {
  id: Generated<number>
  agent: string
  client_type: string
  last_day: number
}

/** A package name that was downloaded. */
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

/** Downloads of one file by a client with one user agent on one day. */
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
  /** clients (in `packages`: names) whose last download was on this day */
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

/** All downloads that were ever counted. */
export interface DownloadTotalsTable {
  format: FormatId
  downloads: number
}

/** The last downloads, as they were logged. */
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
