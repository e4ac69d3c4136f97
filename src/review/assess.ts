// What a later check means for a record: nothing, a new scan date, or a change. Pure.
import { isDeepStrictEqual } from 'node:util'
import type { ReviewReason, ActiveDecision } from '../domain/acceptance.ts'
import { decide, resultsOf, type Decision, type Policy } from '../domain/decide.ts'
import type { Found, Seen } from '../domain/evidence.ts'
import { countSeverities, type Finding } from '../domain/finding.ts'
import { isRepository } from '../domain/repositories.ts'
import { openFindings, reviewDueAt } from '../domain/review-due.ts'
import type { Coverage, HeldReason, Mechanism, Verdict } from '../domain/status.ts'
import type { StatusEvent } from '../domain/transitions.ts'
import { asStep } from '../gate/gate.ts'
import type { Change } from '../packages/records/change-record.ts'
import type { PackageRow } from '../store/tables.ts'
import { NO_REVIEW, NOT_HELD } from './deps.ts'
import { sameFindings } from './merge.ts'

/** A check of a stored package after its arrival. */
export interface Check {
  mechanism: Mechanism
  /** what its steps saw; each result replaces the record's result of that step */
  evidence?: readonly Seen[]
  /** what is kept as evidence; by default the same */
  kept?: readonly Seen[]
  /** coverage of the components inside, when the check scanned them and not the package itself */
  components?: Coverage
}

/** The columns of a record that an assessment depends on. */
export type Assessed = Pick<
  PackageRow,
  | 'distribution'
  | 'status'
  | 'served'
  | 'cve_results'
  | 'cve_summary'
  | 'last_scan'
  | 'pipeline'
  | 'validation_steps'
  | 'coverage'
  | 'held_reason'
  | 'review_since'
  | 'review_due_at'
  | 'review_reasons'
>

export type Assessment = { newIds: string[]; droppedIds: string[] } & (
  | { kind: 'noop' }
  | { kind: 'touchScanDate' }
  | {
      kind: 'change'
      event: StatusEvent
      heldReason: HeldReason | null
      /** null when they are the same as before */
      findings: Finding[] | null
      set: NonNullable<Change['set']>
      review: NonNullable<Change['review']>
      /** why the record has to be reviewed; empty when there is nothing new to decide */
      reasons: ReviewReason[]
    }
)

/**
 * @param found all findings that are known now
 * @param decisions those in force for the record
 */
export function assess(
  before: Assessed,
  found: readonly Found[],
  check: Check,
  { decisions, policy, now }: { decisions: readonly ActiveDecision[]; policy: Policy; now: Date },
): Assessment {
  const known = (before.cve_results ?? []) as Finding[]
  const evidence = { checks: check.evidence ?? [], findings: found }
  const isLibrary = isRepository(before.distribution)
  const decision = decide(policy, { ...before, findings: known, isLibrary }, evidence, decisions, now)
  const { event, reasons, verdicts } = decision
  const findings = decision.findings ?? []
  const ids = new Set(findings.map((finding) => finding.id))
  const knownIds = new Set(known.map((finding) => finding.id))
  const newIds = [...ids].filter((id) => !knownIds.has(id))
  const droppedIds = [...knownIds].filter((id) => !ids.has(id))
  const isSame = sameFindings(known, findings) && (before.cve_results !== null || check.components !== undefined)
  if (isSame && event === 'refresh') {
    // A nightly check of 100,000 packages must cost what it finds, not what is stored.
    if (check.components && sameCoverage(before.coverage['dependency_scan'], check.components))
      return { kind: 'noop', newIds, droppedIds }
    if (!check.components && !check.evidence && before.last_scan) return { kind: 'touchScanDate', newIds, droppedIds }
  }
  const changes = reviewChanges(before, check, decision, policy.cve_policy, now)
  const set = { ...scanColumns(before, findings, check, verdicts, now), ...changes.set }
  const { review } = changes
  const { heldReason } = decision
  const changed = isSame ? null : findings
  return { kind: 'change', event, heldReason, findings: changed, set, review, reasons, newIds, droppedIds }
}

function scanColumns(
  before: Assessed,
  findings: readonly Finding[],
  check: Check,
  verdicts: readonly Verdict[],
  now: Date,
) {
  const { steps, coverage } = withVerdicts(before, check, verdicts)
  return {
    // A match of the components does not count as a scan of the package. The counts include both.
    cve_summary: JSON.stringify({
      scanned: check.components ? before.cve_summary?.['scanned'] === true : true,
      components_scanned: check.components
        ? check.components.result !== 'no_data'
        : before.cve_summary?.['components_scanned'] === true,
      passed: openFindings(findings).length === 0,
      ...countSeverities(findings),
    }),
    last_scan: check.components ? before.last_scan : now,
    pipeline: JSON.stringify({ ...before.pipeline, ...resultsOf(verdicts) }),
    validation_steps: JSON.stringify(steps),
    coverage: JSON.stringify(coverage),
  }
}

/** The record's results of its steps; each new verdict replaces the old one of that step. */
function withVerdicts(before: Assessed, { components }: Check, verdicts: readonly Verdict[]) {
  const steps = [...(before.validation_steps as { name: string }[])]
  const coverage: Record<string, unknown> = {
    ...before.coverage,
    ...(components ? { dependency_scan: components } : {}),
  }
  for (const verdict of verdicts) {
    const { check } = verdict
    if (check === 'antivirus' || check === 'cve_scan') coverage[check] = verdict.coverage ?? null
    const at = steps.findIndex((step) => step.name === verdict.name)
    if (at < 0) steps.push(asStep(verdict))
    else steps[at] = asStep(verdict)
  }
  return { steps, coverage }
}

function reviewChanges(
  before: Assessed,
  check: Check,
  { event, reasons, findings, dueAt }: Decision,
  policy: Policy['cve_policy'],
  now: Date,
): Required<Pick<Change, 'set' | 'review'>> {
  if (event === 'reopen' || event === 'clear') {
    return {
      set: {
        cve_status: 'pending_review',
        held_reason: check.mechanism,
        review_due_at: dueAt,
      },
      review: {
        review_origin: check.mechanism,
        review_since: now,
        overdue_noted_at: null,
        review_reasons: JSON.stringify(reasons),
        ...(event === 'clear' ? { quarantined_at: null, quarantined_by: null } : {}),
      },
    }
  }
  if (event === 'malicious')
    return { set: NOT_HELD, review: { ...NO_REVIEW, quarantined_at: now, quarantined_by: 'system' } }
  if (before.status !== 'pending_review') return { set: {}, review: {} }
  const open = openFindings(findings ?? [])
  const known = before.review_reasons ?? []
  const more = reasons.filter(({ id, reason }) => !known.some((other) => other.id === id && other.reason === reason))
  return {
    set: {
      // A finding tells a reviewer more than a scan that failed.
      ...(before.held_reason === 'unscanned' && open.length > 0 ? { held_reason: 'cve_review' } : {}),
      // New findings may be more urgent; they never extend the deadline.
      review_due_at: earlier(before.review_due_at, reviewDueAt(before.review_since ?? now, open, false, policy)),
    },
    review: more.length > 0 ? { review_reasons: JSON.stringify([...known, ...more]) } : {},
  }
}

const earlier = (a: Date | null, b: Date | null) => (a && b ? (a < b ? a : b) : (a ?? b))

/** Whether two checks covered the same; the date of the advisories does not count. */
export function sameCoverage(then: unknown, now: Coverage): boolean {
  return (
    typeof then === 'object' && isDeepStrictEqual({ ...then, database_date: null }, { ...now, database_date: null })
  )
}
