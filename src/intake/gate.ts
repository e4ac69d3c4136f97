// Runs the steps in their order and sums up what they said.
import type { Settings } from '../domain/settings.ts'
import { countSeverities, type Finding } from '../domain/finding.ts'
import type {
  Coverage,
  CveStatus,
  HeldReason,
  PackageStatus,
  PipelineKey,
  PipelineWord,
  Verdict,
} from '../domain/status.ts'
import type { Candidate, Step, StepEvent, ValidationStep } from './arrival.ts'

export interface GateResult {
  candidate: Candidate
  status: PackageStatus
  cveStatus: CveStatus | null
  heldReason: HeldReason | null
  pipeline: Record<PipelineKey, PipelineWord>
  coverage: { antivirus: Coverage | null; cve_scan: Coverage | null }
  steps: ValidationStep[]
  findings: Finding[] | null
  cveSummary: Record<string, unknown> | null
  missing: string[]
  warnings: string[]
}

const NOTHING_RUN: Record<PipelineKey, PipelineWord> = {
  antivirus: 'not_run',
  cve_scan: 'not_run',
  gpg: 'not_run',
  dependencies: 'not_run',
}
/** The stream's names for the steps. */
const EVENT_NAMES: Record<PipelineKey, string> = {
  antivirus: 'antivirus',
  cve_scan: 'cve',
  gpg: 'gpg',
  dependencies: 'dependencies',
}

/** A step that refuses ends the gate; later keys stay `not_run`. The worst outcome of all decides. */
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
    result.pipeline[step.key] = verdict.word
    if (step.key === 'antivirus' || step.key === 'cve_scan') result.coverage[step.key] = verdict.coverage ?? null
    if (step.key === 'cve_scan') {
      result.cveStatus = CVE_STATUS[verdict.outcome]
      result.cveSummary = {
        scanned: verdict.word !== 'skipped' && verdict.word !== 'no_data' && verdict.word !== 'error',
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
      // A finding is the better reason than a scan that could not be made.
      result.heldReason = verdict.word === 'review' ? 'cve_review' : (result.heldReason ?? 'unscanned')
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
