// Prepares a stored package for the steps of the gate, and runs these steps for later checks.
import { Problem } from '../domain/problem.ts'
import { verdictOf } from '../domain/decide.ts'
import type { PipelineKey, PipelineResult } from '../domain/status.ts'
import type { Candidate, StepResult } from '../gate/step.ts'
import { removeFile } from '../kernel/files.ts'
import { unpackFacts } from '../domain/packed-facts.ts'
import { blobOf } from '../store/files/blob-query.ts'
import type { PackageRow } from '../store/tables.ts'
import type { ReviewDeps } from './deps.ts'
import type { RunStep } from './inspect.ts'

export const STEP_TIMEOUT_MS = 120_000

/** Results of a vulnerability scan that judged the package. */
export const SCANNED: readonly PipelineResult[] = ['no_findings', 'allowed', 'warning', 'review', 'blocked']

export function stepRunner(deps: Pick<ReviewDeps, 'steps' | 'settings'>, timeoutMs = STEP_TIMEOUT_MS): RunStep {
  return (key, on) => runStep(deps, key, on, timeoutMs)
}

/** Prepares the stored file for the steps; without a path until the file is needed. */
export async function storedCandidate(
  { db, offered }: Pick<ReviewDeps, 'db' | 'offered'>,
  row: PackageRow,
): Promise<Candidate> {
  const blob = await blobOf(db, row.sha256)
  const { sha256, sha512, sha1, md5 } = blob
  return {
    ...offered(row.distribution),
    facts: unpackFacts(blob),
    filename: row.filename,
    sizeBytes: row.size_bytes,
    digests: { sha256, sha512, sha1, md5 },
    receivedSha256: row.received_sha256,
    path: '',
  }
}

async function runStep(
  deps: Pick<ReviewDeps, 'steps' | 'settings'>,
  key: PipelineKey,
  candidate: Candidate,
  timeoutMs: number,
): ReturnType<RunStep> {
  const step = deps.steps.find((one) => one.key === key)
  if (!step) throw new Error(`the gate has no step ${key}`)
  const settings = deps.settings()
  const running = step.run(candidate, settings)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const message = `the step ${step.label} took more than ${timeoutMs / 1000} seconds`
    timer = setTimeout(() => {
      void running.then((result) => forgetFile(result, candidate)).catch(() => {})
      reject(new Problem('timeout', message))
    }, timeoutMs)
  })
  try {
    const result = await Promise.race([running, late])
    return { ...result, verdict: verdictOf(settings, { ...result.seen, check: key }, false) }
  } finally {
    clearTimeout(timer)
  }
}

/** A step cannot be interrupted. Removes the copy that it may have signed after its caller gave up. */
async function forgetFile({ candidate: made }: StepResult, { path }: Candidate): Promise<void> {
  if (made && made.path !== path) await removeFile(made.path)
}
