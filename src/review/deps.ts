// The dependencies of the review room, and what its files share. Each function names the part that it uses.
import type { Origin } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import type { Step } from '../gate/step.ts'
import { factsToMatch, type PackageFacts } from '../domain/package.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Placed } from '../formats/intake-format.ts'
import type { Publisher } from '../publish/publisher.ts'
import type { PendingDeletions } from '../packages/records/pending-deletions.ts'
import type { AuditLog } from '../audit/log.ts'
import type { RecordSelector } from '../store/records/artifact-query.ts'
import type { Db } from '../store/db.ts'
import type { Manifests } from '../packages/records/manifests.ts'
import type { PackageRow } from '../store/tables.ts'
import type { Pool } from '../store/files/pool.ts'
import type { Staging } from '../store/files/staging.ts'

export interface ReviewDeps {
  db: Db
  clock: Clock
  bus: Bus
  audit: AuditLog
  pool: Pool
  staging: Staging
  manifests: Manifests
  publisher: Publisher
  pendingDeletions: PendingDeletions
  checkpoint: Checkpoint
  /** the steps of the gate: a rescan judges a package like a new one */
  steps: readonly Step[]
  /**
   * Names of the engines that find vulnerabilities, as in a finding's `sources`; the first one runs the step `cve_scan`.
   * Findings that only engines outside this list had reported are dropped by the next scan.
   */
  engines: readonly string[]
  settings(): Settings
  offered(codename: string): Placed
  onError(error: unknown): void
}

/** Who acts: a person or token by name, or an actor without login. */
export interface Actor {
  name: string
  origin: Origin
}

/** One of the actors without login (docs/api-decisions.md, section 5). */
export function systemActor(name: 'scheduler' | 'system' | 'webhook'): Actor {
  return { name, origin: { ip: null, requestId: null } }
}

/** The keys of an audit event that name a record and its actor. */
export function eventBase(row: Pick<PackageRow, 'name' | 'version' | 'distribution' | 'arch'>, actor: Actor) {
  return {
    package: row.name,
    version: row.version,
    distribution: row.distribution,
    arch: row.arch,
    user: actor.name,
    ip: actor.origin.ip,
    requestId: actor.origin.requestId,
  }
}

/** The selector matches no record. */
export function noSuchPackage({ name, version, distribution, arch }: RecordSelector): Problem {
  return new Problem(
    'not_found',
    `there is no package ${[name, version, distribution, arch].filter(Boolean).join(' ')}`,
  )
}

/** Values for a record that is not under review. */
export const NOT_HELD = { held_reason: null, review_due_at: null } as const
/** Values for its review, which has ended. */
export const NO_REVIEW = {
  review_origin: null,
  review_since: null,
  overdue_noted_at: null,
  review_reasons: null,
} as const

/** The facts of a package by which advisories are matched, taken from its row. */
export function factsOf(
  row: Pick<PackageRow, 'format' | 'name' | 'version' | 'arch' | 'source_package' | 'source_version'>,
): PackageFacts {
  return factsToMatch({ ...row, sourcePackage: row.source_package, sourceVersion: row.source_version })
}
