// The input of the intake, and its answer.
import type { Origin } from '../domain/audit.ts'
import type { Scopes } from '../domain/scopes.ts'
import type { Coverage, CveStatus, HeldReason, PackageStatus, PipelineKey, PipelineResult } from '../domain/status.ts'
import type { Placed } from '../formats/intake-format.ts'
import type { Candidate, Staged, Step, StepEvent, ValidationStep } from '../gate/step.ts'

/** Who brings files, and how. */
export interface Meta {
  method: 'upload' | 'import' | 'mirror' | 'proxy'
  importedBy: string
  origin: Origin
  /** what the token that brings the files may bring; for an upload, `Delivered` states it */
  scopes?: Scopes | null
  /** the import group that its records belong to */
  group?: string | null
}

/** What an import source lists about a package, known before the file is read. */
export interface Listing {
  sourceId: number
  package: string
  version: string
  arch: string
  /** keys of a source with an unverified index: one of them must have signed the file; null for a verified index or no keys */
  signers: readonly string[] | null
}

/** One file to be accepted. Nothing is read before `deliver` is called. */
export interface Source {
  /** of an imported package; audited when the file never arrives */
  listing?: Listing
  /** size of the file, where it is known in advance */
  sizeBytes?: number
  /** what its source asks for besides the checks of the gate, after these */
  steps?: readonly Step[]
  /** Names the distribution and writes the bytes, once each and in any order. */
  deliver(to: Delivery): Promise<Delivered>
  /** Called while the file passes through the intake; the first event says that its bytes were received. */
  progress?(event: StepEvent): void
}

export interface Delivered {
  declaredSha256: string | null
  /** what the token that brings the file may bring, read when the file is complete */
  scopes?: Scopes | null
  /** Compares what was said about the file with what it is, before it is judged. @throws Problem */
  compare?(found: Pick<Candidate, 'facts' | 'digests' | 'filename'>): Promise<void>
}

export interface Delivery {
  /** larger files are refused */
  readonly mostBytes: number
  /** @throws Problem('unknown_distribution' or 'distribution_inactive'): call it early to end a hopeless transfer */
  target(codename: string): void
  /** Streams the bytes to staging. @throws Problem('file_too_large') */
  store(bytes: AsyncIterable<Uint8Array>): Promise<void>
  /** Takes over a file of the staging directory that was hashed while it was written. @throws Problem('file_too_large') */
  adopt(file: Staged): Promise<void>
}

/** A file that was received completely. */
export interface Arrival extends Staged, Delivered {
  offered: Placed
}

/** The body of an upload's answer. */
export interface IntakeResult {
  status: PackageStatus
  package: string
  version: string
  distribution: string
  pipeline: Record<PipelineKey, PipelineResult>
  filename: string
  arch: string
  sha256: string
  coverage: { antivirus: Coverage | null; cve_scan: Coverage | null }
  validation: { passed: boolean; cve_status: CveStatus | null; steps: ValidationStep[]; deps_missing: string[] }
  held_reason: HeldReason | null
  warnings: string[]
  message: string
  duplicate: boolean
}
