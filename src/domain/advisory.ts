// A published advisory, reduced to what matching and people need. Independent of OSV's JSON and of tables.
import type { Severity } from './finding.ts'

/** One point of a range's timeline; exactly one key is set. */
export interface RangeEvent {
  introduced?: string
  fixed?: string
  last_affected?: string
  limit?: string
}

export interface VersionRange {
  type: 'ECOSYSTEM' | 'SEMVER'
  events: RangeEvent[]
}

/** What one advisory states about one package of one ecosystem. */
export interface AffectedPackage {
  /** with its release: `AlmaLinux:9`, `Debian:12`, `npm` */
  ecosystem: string
  package: string
  ranges: VersionRange[]
  /** affected versions outside every range */
  versions: string[]
  /** null when it equals the advisory's rating */
  severity: Severity | null
  cvss: number | null
  /** the distribution announced that it will not fix it */
  wontFix: boolean
  /** the module stream of a modular package, `16` of `postgresql:16` */
  stream: string | null
}

/** The EPSS estimate that a vulnerability is exploited within 30 days. */
export interface Score {
  cve: string
  /** 0 to 1 */
  score: number
  /** 0 to 1 */
  percentile: number
}

/** One vulnerability known to be exploited, as CISA's KEV list and `POST /webhooks/kev` describe it. */
export interface Exploited {
  cve: string
  vendor: string | null
  product: string | null
  dateAdded: string | null
  dueDate: string | null
  description: string | null
}

export interface Advisory {
  id: string
  /** ISO 8601, UTC */
  modified: string
  withdrawn: string | null
  severity: Severity
  cvss: number | null
  summary: string | null
  /** the CVEs it is about, sorted */
  cves: string[]
  /** other names of the same vulnerability, sorted */
  aliases: string[]
  urls: string[]
  /** one sentence per CVE, where the advisory has them */
  notes: Record<string, string>
  /** false for bug-fix notices */
  security: boolean
}
