// The body of an upload's answer, from the record and the gate's result.
import type { PackageRow } from '../store/tables.ts'
import type { Candidate, ValidationStep } from '../gate/step.ts'
import type { IntakeResult } from '../packages/arrival.ts'
import type { GateResult } from '../gate/gate.ts'

const MESSAGES: Record<PackageRow['status'], string> = {
  published: 'published: the new index is live',
  pending_review: 'held for review: a maintainer has to decide',
  quarantined: 'quarantined: the package is not served',
  rejected: 'these bytes were rejected before',
}

export function answerFor(row: PackageRow, gate: GateResult): IntakeResult {
  return {
    status: row.status,
    package: row.name,
    version: row.version,
    distribution: row.distribution,
    pipeline: gate.pipeline,
    filename: row.filename,
    arch: row.arch,
    sha256: row.sha256,
    coverage: gate.coverage,
    validation: {
      passed: row.status === 'published',
      cve_status: row.cve_status,
      steps: row.validation_steps as ValidationStep[],
      deps_missing: gate.missing,
    },
    held_reason: row.held_reason,
    warnings: gate.warnings,
    message: gate.steps.find((step) => !step.passed)?.message ?? MESSAGES[row.status],
    duplicate: false,
  }
}

/** The same bytes were rejected earlier: no step runs, and nothing is stored. */
export function rejectedAnswer(candidate: Candidate, row: PackageRow): IntakeResult {
  return {
    status: 'rejected',
    package: candidate.facts.name,
    version: candidate.facts.version,
    distribution: candidate.distribution.codename,
    pipeline: { antivirus: 'not_run', cve_scan: 'not_run', gpg: 'not_run', dependencies: 'not_run' },
    filename: candidate.filename,
    arch: candidate.facts.arch,
    sha256: row.sha256,
    coverage: { antivirus: null, cve_scan: null },
    validation: { passed: false, cve_status: row.cve_status, steps: [], deps_missing: [] },
    held_reason: null,
    warnings: [],
    message: `${MESSAGES.rejected}, in ${row.distribution}`,
    duplicate: true,
  }
}
