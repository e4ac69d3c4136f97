// Runs the steps of the gate in order and combines their verdicts.
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
import type { Candidate, Step, StepEvent, StepResult, ValidationStep } from './step.ts'

export interface GateResult {
  candidate: Candidate
  status: PackageStatus
  cveStatus: CveStatus | null
  heldReason: HeldReason | null
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
/** Names of the steps in `/upload/stream`. */
const EVENT_NAMES: Record<PipelineKey, string> = {
  antivirus: 'antivirus',
  cve_scan: 'cve',
  gpg: 'gpg',
  dependencies: 'dependencies',
}

/**
 * Runs the steps until one refuses; later keys stay `not_run`. The worst outcome decides the status.
 * @throws Problem when a step cannot judge and nothing may be stored; files that steps wrote are removed
 */
export async function runGate(
  steps: readonly Step[],
  first: Candidate,
  settings: Settings,
  progress: (event: StepEvent) => void,
): Promise<GateResult> {
  let result = nothingRun(first)
  try {
    for (const step of steps) {
      const { label } = step
      const name = EVENT_NAMES[step.key]
      progress({ name, label, status: 'running', message: '', detail: null })
      const { candidate } = result
      const ended = await trace(`gate ${step.key}`, {}, async (seen) => {
        const said = await step.run(candidate, settings)
        seen['gatehouse.result'] = said.verdict.result
        seen['gatehouse.outcome'] = said.verdict.outcome
        return said
      })
      result = combine(result, step.key, ended)
      const { outcome, message, detail = null } = ended.verdict
      progress({ name, label, status: EVENT_STATUS[outcome], message, detail })
      if (outcome === 'refuse') break
    }
    return result
  } catch (error) {
    if (result.candidate.path !== first.path) await removeFile(result.candidate.path)
    throw error
  }
}

export function nothingRun(candidate: Candidate): GateResult {
  return {
    candidate,
    status: 'published',
    cveStatus: null,
    heldReason: null,
    pipeline: { ...NOTHING_RUN },
    coverage: { antivirus: null, cve_scan: null },
    steps: [],
    findings: null,
    cveSummary: null,
    missing: [],
    warnings: [],
  }
}

/** The result so far with one more step's. Pure. */
export function combine(before: GateResult, key: PipelineKey, ended: StepResult): GateResult {
  const { verdict } = ended
  const after: GateResult = {
    ...before,
    candidate: ended.candidate ?? before.candidate,
    findings: ended.findings ?? before.findings,
    missing: ended.missing ?? before.missing,
    pipeline: { ...before.pipeline, [key]: verdict.result },
    steps: [...before.steps, asStep(verdict)],
    warnings: verdict.outcome === 'warn' ? [...before.warnings, verdict.message] : before.warnings,
  }
  if (key === 'antivirus' || key === 'cve_scan')
    after.coverage = { ...before.coverage, [key]: verdict.coverage ?? null }
  if (key === 'cve_scan') {
    after.cveStatus = CVE_STATUS[verdict.outcome]
    after.cveSummary = {
      scanned: !['skipped', 'no_data', 'error'].includes(verdict.result),
      passed: verdict.outcome === 'pass' || verdict.outcome === 'warn',
      ...countSeverities(ended.findings ?? []),
    }
  }
  if (verdict.outcome === 'refuse') return { ...after, status: 'quarantined', heldReason: null }
  if (verdict.outcome !== 'hold') return after
  // A finding tells a reviewer more than a scan that could not be made.
  const heldReason = verdict.result === 'review' ? 'cve_review' : (before.heldReason ?? reasonOf(verdict))
  return { ...after, status: 'pending_review', heldReason }
}

const reasonOf = ({ result }: Verdict): HeldReason => (result === 'breaks_others' ? 'breaks_others' : 'unscanned')

const CVE_STATUS: Record<Verdict['outcome'], CveStatus> = {
  pass: 'approved',
  warn: 'approved',
  hold: 'pending_review',
  refuse: 'blocked',
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
