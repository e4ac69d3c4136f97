// A published advisory, reduced to what matching and people need. Knows neither OSV's JSON nor tables.
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

/** What one advisory says of one package of one ecosystem. */
export interface AffectedPackage {
  /** with its release: `AlmaLinux:9`, `Debian:12`, `npm` */
  ecosystem: string
  package: string
  ranges: VersionRange[]
  /** affected versions that no range covers */
  versions: string[]
  /** where it differs from the advisory's own rating, else null */
  severity: Severity | null
  cvss: number | null
  /** the distribution said that it will not fix it */
  wontFix: boolean
  /** of a modular package: the stream its versions begin with, `16` of `postgresql:16` */
  stream: string | null
}

/** How likely a vulnerability is exploited within 30 days, as EPSS says. */
export interface Score {
  cve: string
  /** 0 to 1 */
  score: number
  /** 0 to 1 */
  percentile: number
}

/** One vulnerability known to be exploited, as the KEV catalogue and `POST /webhooks/kev` give it. */
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
  /** one sentence about a CVE, where the advisory has one for each */
  notes: Record<string, string>
  /** tells of a vulnerability; false for bug-fix notices */
  security: boolean
}
