// The words of the intake: what arrives, who brings it, and what is answered.
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import type { Digests, Distribution, PackageFacts } from '../domain/package.ts'
import type { Settings } from '../domain/settings.ts'
import type {
  Coverage,
  CveStatus,
  HeldReason,
  PackageStatus,
  PipelineKey,
  PipelineWord,
  Verdict,
} from '../domain/status.ts'
import type { Finding } from '../domain/finding.ts'
import type { PackageFormat } from '../formats/format.ts'

/** Bytes that were received whole and lie in staging. */
export interface Staged {
  path: string
  sizeBytes: number
  digests: Digests
}

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

/** One line of the `/upload/stream` (decisions, section 6). */
export interface StepEvent {
  name: string
  label: string
  status: 'running' | 'done' | 'warn' | 'error'
  message: string
  detail: unknown
}

/** A staged file of which its format and facts are known. */
export interface Candidate extends Staged {
  format: PackageFormat
  distribution: Distribution
  facts: PackageFacts
  filename: string
  /** SHA-256 of the bytes as they came; differs from `digests.sha256` once we signed a copy */
  receivedSha256: string
}

/** What one step of the gate says, and the evidence it leaves in the record. */
export interface StepResult {
  verdict: Verdict
  findings?: Finding[]
  /** the candidate from here on, when the step made a new file (rpm signing) */
  candidate?: Candidate
  missing?: string[]
}

export interface Step {
  key: PipelineKey
  label: string
  /** @throws Problem when nothing can be said and nothing shall be stored */
  run(candidate: Candidate, settings: Settings): Promise<StepResult>
}

export interface ValidationStep {
  name: string
  passed: boolean
  message: string
  detail: unknown
  warning?: boolean
  coverage?: Coverage
}

/** The body of an upload's answer. */
export interface IntakeResult {
  status: PackageStatus
  package: string
  version: string
  distribution: string
  pipeline: Record<PipelineKey, PipelineWord>
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
