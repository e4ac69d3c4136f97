// What enters the intake, and what the intake answers.
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import type { Coverage, CveStatus, HeldReason, PackageStatus, PipelineKey, PipelineResult } from '../domain/status.ts'
import type { Staged, StepEvent, ValidationStep } from '../gate/step.ts'

export interface Arrival extends Staged {
  distribution: string
  declaredSha256: string | null
  method: 'upload' | 'import' | 'mirror'
  importedBy: string
  origin: Origin
  caller: Caller | null
  /** told while the pipeline runs; a thrown error is not awaited */
  progress?: (event: StepEvent) => void
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
