// Findings and components of records, and their counts.
import type { Selectable } from 'kysely'
import type { Finding, PolicyAction, Severity } from '../../domain/finding.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { Json } from './columns.ts'

/** One row for each finding of a record, for pages and counts; a copy of `packages.cve_results`. */
export interface FindingsTable {
  package_id: number
  cve: string
  distribution: string
  severity: Severity
  fix_state: Finding['fix_state']
  action: PolicyAction
  in_kev: boolean
  epss: number | null
  first_seen: Date
  risk: number
  finding: Json<Finding>
}

/** What else people call a finding, in upper case; a copy of the aliases in `findings.finding`. */
export interface FindingNamesTable {
  package_id: number
  cve: string
  name: string
}

/** Number of findings by the filters of their pages. */
export interface FindingCountsTable {
  distribution: string
  status: PackageStatus
  severity: Severity
  fix_state: Finding['fix_state']
  n: number
}

/** Number of packages by the filters of their pages. */
export interface PackageCountsTable {
  distribution: string
  status: PackageStatus
  /** empty for none */
  cve_status: string
  scanned: boolean
  severities: number
  n: number
}

/** A stored file whose components were read. */
export interface ComponentReadsTable {
  sha256: string
  read_at: Date
  files_seen: number
  bytes: number
  /** files that look like components and could not be read */
  skipped: Json<{ name: string; reason: string }[]>
}

/** A component in a stored file, each name and version once. */
export interface ComponentsTable {
  sha256: string
  ecosystem: 'npm' | 'PyPI' | 'Maven'
  name: string
  version: string
  /** the name as advisories are looked up by */
  key: string
  path: string
  license: string | null
}

/** Records whose components are not matched yet; a trigger on `packages` adds the rows. */
export interface ComponentWorkTable {
  package_id: number
  sha256: string
}

export type ComponentRow = Selectable<ComponentsTable>
