// What a later look at a package does to it: one rule for rescan, re-match, second scanner and dependency scan.
import { isDeepStrictEqual } from 'node:util'
import { countSeverities, type Finding } from '../domain/finding.ts'
import { openFindings, reviewDueAt } from '../domain/review-due.ts'
import type { Coverage, Mechanism, PipelineKey, Verdict } from '../domain/status.ts'
import type { StatusEvent } from '../domain/transitions.ts'
import { asStep } from '../gate/gate.ts'
import { isUnscanned } from '../gate/unscanned.ts'
import { isoTime } from '../kernel/clock.ts'
import { changeRecord, lockRecord, type Change, type Changed } from '../records/change-record.ts'
import { activeDecisions } from '../store/records/decisions.ts'
import type { Db } from '../store/db.ts'
import type { PackageRow, ReviewReason } from '../store/tables.ts'
import { reasonsToAsk, withAcceptance } from './coverage.ts'
import { mergeFindings, sameFindings, type Seen } from './merge.ts'
import { eventBase, type Actor, type ReviewParts } from './parts.ts'
import { announce, cleanUp } from './settle.ts'

export interface Applied extends Changed {
  newIds: string[]
  droppedIds: string[]
  /** why it is under review from now on; empty when this brought nothing to decide */
  reasons: ReviewReason[]
}

/** A verdict that takes the place of what the record says of that step. */
export interface Evidence {
  key: PipelineKey
  verdict: Verdict
}

export interface Look {
  mechanism: Mechanism
  evidence?: readonly Evidence[]
  /** what was seen of the libraries inside, where the look was at them and not at the package itself */
  inside?: Coverage
  /** quarantined, and no cause is left: it goes to review */
  clears?: boolean
  /** columns that change with it, written in the same transaction */
  alongside?(tx: Db, before: PackageRow): Promise<Change['set']>
}

const EARLIER = (a: Date | null, b: Date | null) => (a && b ? (a < b ? a : b) : (a ?? b))

/**
 * Takes what one engine finds in a package now. A published package with something new to decide goes to review and
 * stays served; `block` counts as `review` here (specification, rule 1). Nothing is ever published, approved or taken
 * away by it.
 * @throws Problem('not_found') when the record is gone
 */
export function applyFindings(parts: ReviewParts, id: number, seen: Seen, look: Look, actor: Actor): Promise<Applied> {
  const now = isoTime(parts.clock.now())
  return reviseFindings(
    parts,
    id,
    (known) => mergeFindings(known, seen, parts.engines, parts.settings().cve_policy, now),
    look,
    actor,
  )
}

/**
 * The same for what changes findings in another way: a known-exploited flag, a score.
 * @param revise gives the findings as they are now, from those that were known
 */
export async function reviseFindings(
  parts: ReviewParts,
  id: number,
  revise: (known: readonly Finding[]) => Finding[],
  look: Look,
  actor: Actor,
): Promise<Applied> {
  const applied = await parts.db.transaction().execute(async (tx) => {
    const before = await lockRecord(tx, id)
    const standing = (await activeDecisions(tx, [id])).get(id) ?? []
    const known = (before.cve_results ?? []) as Finding[]
    const findings = withAcceptance(revise(known), standing)
    const ids = new Set(findings.map((finding) => finding.id))
    const knownIds = new Set(known.map((finding) => finding.id))
    const newIds = findings.filter((finding) => !knownIds.has(finding.id)).map((finding) => finding.id)
    const droppedIds = [...knownIds].filter((known) => !ids.has(known))
    const reasons = reasonsToAsk(known, findings, standing)
    const event = eventFor(before, reasons, look)
    const unchanged = sameFindings(known, findings) && (before.cve_results !== null || look.inside !== undefined)
    // A nightly look at 100,000 packages must cost what it finds, not what there is.
    if (unchanged && event === 'refresh' && look.inside && saysSame(before.coverage['dependency_scan'], look.inside)) {
      return { before, row: before, newIds, droppedIds, reasons: [] }
    }
    if (!look.inside && unchanged && event === 'refresh' && !look.evidence && before.last_scan) {
      await tx.updateTable('packages').set({ last_scan: parts.clock.now() }).where('id', '=', id).execute()
      return { before, row: before, newIds, droppedIds, reasons: [] }
    }
    const set = { ...setOf(parts, before, findings, reasons, event, look), ...(await look.alongside?.(tx, before)) }
    const changed = await changeRecord(
      tx,
      parts.audit,
      before,
      { event, ...(unchanged ? {} : { findings }), set },
      parts.offered(before.distribution),
    )
    const { row } = changed
    await parts.audit.record(
      {
        ...eventBase(row, actor),
        action: look.mechanism === 'rescan' ? 'RESCAN' : 'CVE_REMATCH',
        result: reasons.length > 0 ? 'WARNING' : 'SUCCESS',
        outcome: row.status,
        detail: `${findings.length} known vulnerabilities, ${newIds.length} new, ${droppedIds.length} gone`,
        extra: {
          mechanism: look.mechanism,
          previous_status: before.status,
          new_cve_ids: newIds,
          dropped_cve_ids: droppedIds,
          reasons,
        },
      },
      tx,
    )
    return { ...changed, newIds, droppedIds, reasons: row.status === 'pending_review' ? reasons : [] }
  })
  if (applied.row !== applied.before) {
    await cleanUp(parts, [applied])
    announce(parts, [applied])
  }
  return applied
}

function eventFor(before: PackageRow, reasons: readonly ReviewReason[], look: Look): StatusEvent {
  if (before.status === 'published' && reasons.length > 0) return 'reopen'
  return before.status === 'quarantined' && look.clears ? 'clear' : 'refresh'
}

function setOf(
  parts: ReviewParts,
  before: PackageRow,
  findings: Finding[],
  reasons: ReviewReason[],
  event: StatusEvent,
  look: Look,
): Change['set'] {
  const now = parts.clock.now()
  const { cve_policy: policy } = parts.settings()
  const open = openFindings(findings)
  const evidence = evidenceOf(before, look)
  const set: Change['set'] = {
    // Each scan speaks for itself: matching the components does not make the package scanned. The counts are of both.
    cve_summary: JSON.stringify({
      scanned: look.inside ? before.cve_summary?.['scanned'] === true : true,
      components_scanned: look.inside
        ? look.inside.result !== 'no_data'
        : before.cve_summary?.['components_scanned'] === true,
      passed: open.length === 0,
      ...countSeverities(findings),
    }),
    last_scan: look.inside ? before.last_scan : now,
    pipeline: JSON.stringify(evidence.pipeline),
    validation_steps: JSON.stringify(evidence.steps),
    coverage: JSON.stringify(evidence.coverage),
  }
  const unscanned = isUnscanned(evidence.pipeline)
  if (event === 'reopen' || event === 'clear') {
    const asked =
      event === 'clear' ? open : findings.filter((finding) => reasons.some((reason) => reason.id === finding.id))
    return {
      ...set,
      cve_status: 'pending_review',
      held_reason: look.mechanism,
      review_origin: look.mechanism,
      review_since: now,
      review_due_at: reviewDueAt(now, asked, event === 'clear' && unscanned, policy),
      overdue_noted_at: null,
      review_reasons: JSON.stringify(reasons),
      ...(event === 'clear' ? { quarantined_at: null, quarantined_by: null } : {}),
    }
  }
  if (before.status !== 'pending_review') return set
  const known = before.review_reasons ?? []
  const more = reasons.filter(
    (reason) => !known.some((other) => other.id === reason.id && other.reason === reason.reason),
  )
  return {
    ...set,
    // A finding is the better reason than a scan that could not be made.
    ...(before.held_reason === 'unscanned' && open.length > 0 ? { held_reason: 'cve_review' } : {}),
    // What turns up later may be more urgent; it never gives more time.
    review_due_at: EARLIER(before.review_due_at, reviewDueAt(before.review_since ?? now, open, false, policy)),
    ...(more.length > 0 ? { review_reasons: JSON.stringify([...known, ...more]) } : {}),
  }
}

/** The record's account of its checks, with what was looked at again in its old place. */
function evidenceOf(before: PackageRow, { evidence = [], inside }: Look) {
  const steps = [...(before.validation_steps as { name: string }[])]
  const pipeline = { ...before.pipeline }
  const coverage: Record<string, unknown> = { ...before.coverage, ...(inside ? { dependency_scan: inside } : {}) }
  for (const { key, verdict } of evidence) {
    pipeline[key] = verdict.result
    if (key === 'antivirus' || key === 'cve_scan') coverage[key] = verdict.coverage ?? null
    const at = steps.findIndex((step) => step.name === verdict.name)
    if (at < 0) steps.push(asStep(verdict))
    else steps[at] = asStep(verdict)
  }
  return { steps, pipeline, coverage }
}

/** The same was looked at, whatever day the advisories are of. */
export function saysSame(then: unknown, now: Coverage): boolean {
  return (
    typeof then === 'object' && isDeepStrictEqual({ ...then, database_date: null }, { ...now, database_date: null })
  )
}
