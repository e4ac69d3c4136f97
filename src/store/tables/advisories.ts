// Advisories and scores of vulnerabilities.
import type { ColumnType, Generated } from 'kysely'
import type { VersionRange } from '../../domain/advisory.ts'
import type { Severity } from '../../domain/finding.ts'
import type { Json } from './columns.ts'

/** One row: the generation of advisories that readers see, and the import that builds the next. */
export interface AdvisoryStateTable {
  id: number
  generation: number
  /** by ecosystem: entries and newest change, in the generation in force */
  ecosystems: Json<Record<string, { entries: number; newest: string | null }>>
  /** by ecosystem: the packages with the most advisories, in the generation in force */
  vulnerable: ColumnType<Record<string, { package: string; advisories: number }[]>, string | undefined, string>
  /** changes up to this generation may have been deleted */
  changes_floor: number
  /** token of the running import */
  writer: string | null
  building: number | null
  heartbeat_at: Date | null
  /** packages were matched against the changes up to this generation */
  rematched: Generated<number>
  /** the same for builds that store the names of findings */
  rematched_names: Generated<number>
}

/** One source of advisories: a zip file, a directory, an ecosystem of the bucket. */
export interface AdvisoryFeedsTable {
  name: string
  digest: string | null
  advisories: Generated<number>
  generation: number | null
  imported_at: Date | null
  checked_at: Date | null
  error: string | null
}

/** Advisories. Visible in generations from `since` until before `until`. */
export interface AdvisoriesTable {
  key: Generated<number>
  feed: string
  id: string
  /** digest of the stored advisory */
  digest: string
  /** digest of the bytes it was read from */
  source: string
  since: number
  until: number | null
  modified: Date
  withdrawn: Date | null
  severity: Severity
  cvss: number | null
  summary: string | null
  cves: Json<string[]>
  aliases: Json<string[]>
  urls: Json<string[]>
  notes: Json<Record<string, string>>
  security: boolean
}

/** What an advisory states about one package. */
export interface AdvisoryPackagesTable {
  advisory: number
  ecosystem: string
  package: string
  ranges: Json<VersionRange[]>
  versions: Json<string[]>
  severity: Severity | null
  cvss: number | null
  wont_fix: boolean
  stream: string | null
}

/** Packages whose advisories changed in a generation; `*` for all of an ecosystem. */
export interface AdvisoryChangesTable {
  generation: number
  ecosystem: string
  package: string
}

/** The probability that a vulnerability is exploited within 30 days (FIRST's EPSS), 0 to 1. */
export interface EpssTable {
  cve: string
  score: number
  percentile: number
}

/** Vulnerabilities known to be exploited (CISA's KEV, and reports by webhook). */
export interface KevTable {
  cve: string
  vendor: string | null
  product: string | null
  date_added: string | null
  due_date: string | null
  description: string | null
}

export interface ScoreFeedsTable {
  name: string
  digest: string | null
  entries: Generated<number>
  checked_at: Date | null
  imported_at: Date | null
  error: string | null
}
