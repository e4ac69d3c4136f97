// Findings and components of records, and their counts.
import type { Generated, Selectable } from 'kysely'
import type { Finding, PolicyAction, Severity, SeverityCounts } from '../../domain/finding.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { Seen } from '../../domain/evidence.ts'
import type { StoredFound } from '../../domain/stored-evidence.ts'
import type { Json, OrNull } from './columns.ts'

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

/**
 * Evidence: what a check saw of a record (`domain/evidence`). The newest row of a kind is in force and has no `replaced_at`; the
 * others are kept for `retention.evidence_days`.
 */
export interface EvidenceTable {
  id: Generated<number>
  package_id: number
  /** a check of the gate, or a later check of stored packages */
  kind: string
  engine: string | null
  /** version of the engine's data: their date where they have one */
  data_version: string | null
  /** generation of the advisories; null where none were used */
  generation: number | null
  /** first and last time that this was seen */
  at: Date
  last_at: Date
  replaced_at: OrNull<Date>
  /** whether newer advisories were in force when it was stored: the record has to be matched again */
  behind: Generated<boolean>
  /** digest of the evidence, without the versions of engine and data */
  digest: string
  body: Json<EvidenceBody>
  /** digest in `finding_sets`; null without findings */
  findings: string | null
}

export type EvidenceBody = Pick<Seen, 'result' | 'received' | 'message' | 'detail' | 'coverage' | 'concern'> & {
  /** of its findings, so that a page need not read them: a kernel has thousands; absent without findings */
  severities?: SeverityCounts | undefined
}

/** Findings by their digest. Name and version are left out where they equal those of the record. */
export interface FindingSetsTable {
  digest: string
  findings: Json<StoredFound[]>
  used_at: Date
}

/** Other names of a finding, in upper case; a copy of the aliases in `findings.finding`. */
export interface FindingNamesTable {
  package_id: number
  cve: string
  name: string
}

/** The version of its source that fixes all that holds a record, while the record has this number of changes. */
export interface FixVersionsTable {
  package_id: number
  changes: number
  /** null: none does */
  version: string | null
}

/** Number of findings for each combination of list filters. */
export interface FindingCountsTable {
  distribution: string
  status: PackageStatus
  severity: Severity
  fix_state: Finding['fix_state']
  n: number
}

/** Number of packages for each combination of list filters. */
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
  /** the name by which advisories are looked up */
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
