// Runs the steps of the gate in order; `decide` judges what they saw.
import { ARRIVING, decide, resultsOf, type Decision } from '../domain/decide.ts'
import type { Seen } from '../domain/evidence.ts'
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import { countSeverities, type Finding } from '../domain/finding.ts'
import type {
  Coverage,
  CveStatus,
  HeldReason,
  PackageStatus,
  PipelineKey,
  PipelineResult,
  Verdict,
} from '../domain/status.ts'
import { removeFile } from '../kernel/files.ts'
import { trace } from '../kernel/trace.ts'
import type { Candidate, Step, StepEvent, ValidationStep } from './step.ts'

export interface GateResult {
  candidate: Candidate
  status: PackageStatus
  cveStatus: CveStatus | null
  heldReason: HeldReason | null
  dueAt: Date | null
  /** what the steps saw, in their order */
  evidence: readonly Seen[]
  pipeline: Record<PipelineKey, PipelineResult>
  coverage: { antivirus: Coverage | null; cve_scan: Coverage | null }
  steps: ValidationStep[]
  findings: Finding[] | null
  cveSummary: Record<string, unknown> | null
  missing: string[]
  warnings: string[]
}

const NOTHING_RUN: Record<PipelineKey, PipelineResult> = {
  antivirus: 'not_run',
  cve_scan: 'not_run',
  gpg: 'not_run',
  dependencies: 'not_run',
}

/**
 * Runs the steps until one refuses; later keys stay `not_run`. The result is the decision of `decide` on all evidence.
 * @throws Problem when a step could not judge and nothing may be stored; files that steps wrote are removed
 */
export async function runGate(
  steps: readonly Step[],
  first: Candidate,
  settings: Settings,
  now: Date,
  progress: (event: StepEvent) => void,
): Promise<GateResult> {
  let candidate = first
  let missing: string[] = []
  const checks: Seen[] = []
  const subject = { ...ARRIVING, isLibrary: first.format.isLibrary }
  let decision = decide(settings, subject, { checks }, [], now)
  try {
    for (const step of steps) {
      const { label } = step
      // As `/upload/stream` names it.
      const name = step.key === 'cve_scan' ? 'cve' : step.key
      progress({ name, label, status: 'running', message: '', detail: null })
      const verdict = await trace(`gate ${step.key}`, {}, async (attributes) => {
        const said = await step.run(candidate, settings)
        candidate = said.candidate ?? candidate
        missing = said.missing ?? missing
        checks.push({ ...said.seen, check: step.key })
        decision = decide(settings, subject, { checks }, [], now)
        const last = decision.verdicts.at(-1) as Verdict
        attributes['gatehouse.result'] = last.result
        attributes['gatehouse.outcome'] = last.outcome
        return last
      })
      if (decision.turnedAway) throw turnedAway(decision.turnedAway)
      const { outcome, message, detail = null } = verdict
      progress({ name, label, status: EVENT_STATUS[outcome], message, detail })
      if (outcome === 'refuse') break
    }
    return resultOf(candidate, checks, decision, missing)
  } catch (error) {
    if (candidate.path !== first.path) await removeFile(candidate.path)
    throw error
  }
}

const turnedAway = ({ code, message }: NonNullable<Decision['turnedAway']>) =>
  new Problem(code, message, {}, { retryAfterSeconds: code === 'scanner_unavailable' ? 60 : 3600 })

/** What the record and the answer show of a decision about a new package. Pure. */
export function resultOf(
  candidate: Candidate,
  evidence: readonly Seen[],
  decision: Decision,
  missing: string[],
): GateResult {
  const { verdicts, status, cveStatus, heldReason, dueAt, findings } = decision
  const coverageOf = (key: PipelineKey) => verdicts.find(({ check }) => check === key)?.coverage ?? null
  const cve = verdicts.find(({ check }) => check === 'cve_scan')
  return {
    ...{ candidate, evidence, status, cveStatus, heldReason, dueAt, findings, missing },
    pipeline: { ...NOTHING_RUN, ...resultsOf(verdicts.filter(({ check }) => check in NOTHING_RUN)) },
    coverage: { antivirus: coverageOf('antivirus'), cve_scan: coverageOf('cve_scan') },
    steps: verdicts.map(asStep),
    cveSummary: cve
      ? {
          scanned: !['skipped', 'no_data', 'error'].includes(cve.result),
          passed: cve.outcome === 'pass' || cve.outcome === 'warn',
          ...countSeverities(findings ?? []),
        }
      : null,
    warnings: verdicts.filter(({ outcome }) => outcome === 'warn').map(({ message }) => message),
  }
}

const EVENT_STATUS: Record<Verdict['outcome'], StepEvent['status']> = {
  pass: 'done',
  warn: 'warn',
  hold: 'warn',
  refuse: 'error',
}

/** A verdict as an entry of the record's `validation_steps`. */
export function asStep(verdict: Verdict): ValidationStep {
  return {
    name: verdict.name,
    passed: verdict.outcome === 'pass' || verdict.outcome === 'warn',
    message: verdict.message,
    detail: verdict.detail ?? null,
    ...(verdict.outcome === 'warn' ? { warning: true } : {}),
    ...(verdict.coverage ? { coverage: verdict.coverage } : {}),
  }
}
