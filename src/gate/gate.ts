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
import type { Candidate, Step, StepEvent, ValidationStep } from './step.ts'

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

/** Runs the steps until one refuses; later keys stay `not_run`. The worst outcome decides the status. */
export async function runGate(
  steps: readonly Step[],
  first: Candidate,
  settings: Settings,
  progress: (event: StepEvent) => void,
): Promise<GateResult> {
  const result: GateResult = {
    candidate: first,
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
  for (const step of steps) {
    const name = EVENT_NAMES[step.key]
    progress({ name, label: step.label, status: 'running', message: '', detail: null })
    const { verdict, findings, candidate, missing } = await step.run(result.candidate, settings)
    if (candidate) result.candidate = candidate
    if (findings) result.findings = findings
    if (missing) result.missing = missing
    result.pipeline[step.key] = verdict.result
    if (step.key === 'antivirus' || step.key === 'cve_scan') result.coverage[step.key] = verdict.coverage ?? null
    if (step.key === 'cve_scan') {
      result.cveStatus = CVE_STATUS[verdict.outcome]
      result.cveSummary = {
        scanned: verdict.result !== 'skipped' && verdict.result !== 'no_data' && verdict.result !== 'error',
        passed: verdict.outcome === 'pass' || verdict.outcome === 'warn',
        ...countSeverities(findings ?? []),
      }
    }
    result.steps.push(asStep(verdict))
    if (verdict.outcome === 'warn') result.warnings.push(verdict.message)
    progress({
      name,
      label: step.label,
      status: EVENT_STATUS[verdict.outcome],
      message: verdict.message,
      detail: verdict.detail ?? null,
    })
    if (verdict.outcome === 'hold') {
      result.status = 'pending_review'
      // A finding tells a reviewer more than a scan that could not be made.
      result.heldReason = verdict.result === 'review' ? 'cve_review' : (result.heldReason ?? 'unscanned')
    }
    if (verdict.outcome === 'refuse') {
      result.status = 'quarantined'
      result.heldReason = null
      break
    }
  }
  return result
}

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
