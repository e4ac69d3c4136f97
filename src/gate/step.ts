// The vocabulary of the gate: the package under test, the steps that test it, and what a step leaves in the record.
import type { Digests, Distribution, PackageFacts } from '../domain/package.ts'
import type { Seen } from '../domain/evidence.ts'
import type { Settings } from '../domain/settings.ts'
import type { CheckKey, Coverage } from '../domain/status.ts'
import type { IntakeFormat } from '../formats/intake-format.ts'

/** A file of our own in staging, received completely and flushed. */
export interface Staged {
  path: string
  sizeBytes: number
  digests: Digests
}

/** A staged file whose format and facts are known. */
export interface Candidate extends Staged {
  format: IntakeFormat
  distribution: Distribution
  facts: PackageFacts
  filename: string
  /** SHA-256 of the bytes as received; differs from `digests.sha256` after we signed a copy */
  receivedSha256: string
}

/** What one step of the gate saw; `decide` judges it. */
export interface StepResult {
  seen: Omit<Seen, 'check'>
  /** replaces the candidate for the following steps, when the step wrote a new file (rpm signing) */
  candidate?: Candidate
  /** dependencies that no published package satisfies */
  missing?: string[]
}

export interface Step {
  key: CheckKey
  label: string
  /** @param settings say what is checked, and how; `decide` judges the result */
  run(candidate: Candidate, settings: Settings): Promise<StepResult>
}

/** One line of `/upload/stream` (docs/api-decisions.md, section 6). */
export interface StepEvent {
  name: string
  label: string
  status: 'running' | 'done' | 'warn' | 'error'
  message: string
  detail: unknown
}

/** A verdict as the record keeps it, in `validation_steps`. */
export interface ValidationStep {
  name: string
  passed: boolean
  message: string
  detail: unknown
  warning?: boolean
  coverage?: Coverage
}
