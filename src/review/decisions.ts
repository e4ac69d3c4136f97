// Decisions after they were made: how clients see them; replacing, revoking and resolving them.
import type { Finding } from '../domain/finding.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import type { DecisionAction } from '../domain/status.ts'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import { changeRecord } from '../packages/records/change-record.ts'
import { activeDecisions, closeDecisions } from '../packages/records/decisions.ts'
import type { DecisionRow } from '../store/tables.ts'
import { transaction } from '../store/transaction.ts'
import { decideOne, type DecideDeps } from './decide-one.ts'
import { eventBase, type Actor } from './deps.ts'
import { endDecision } from './end-decision.ts'
import { findDecision, lockDecision, type Check } from './lock-decision.ts'
import { readPlan, type DecisionBody } from './plan.ts'
import { cleanUp } from './settle.ts'
import { slaOf } from './sla.ts'

/** A decision as clients see it (docs/api-decisions.md, section 9). */
export function decisionOf(row: DecisionRow, now: Date) {
  return {
    id: row.id,
    package: row.package,
    version: row.version,
    arch: row.arch,
    distribution: row.distribution,
    sha256: row.sha256,
    decision: row.decision,
    action: row.action,
    status: row.status,
    previous_status: row.previous_status,
    justification: row.justification,
    decided_by: row.decided_by,
    decided_at: isoTime(row.decided_at),
    expires_in_days: row.expires_in_days,
    expires_at: isoTimeOrNull(row.expires_at),
    target_version: row.target_version,
    cve_ids: row.covers.map((cover) => cover.id),
    policy_snapshot: row.policy_snapshot,
    active: row.active,
    assigned_to: row.assigned_to,
    assigned_at: isoTimeOrNull(row.assigned_at),
    resolved_at: isoTimeOrNull(row.resolved_at),
    resolved_by: row.resolved_by,
    resolution_note: row.resolution_note,
    sla: slaOf(row.expires_at, now),
  }
}

/** Which actions may replace an action without changing the record's status. */
const EXCHANGEABLE: Record<DecisionAction, readonly DecisionAction[]> = {
  accept_risk: ['accept_risk', 'exception'],
  exception: ['accept_risk', 'exception'],
  reject: ['reject'],
  upgrade_required: ['upgrade_required'],
}

/**
 * Replaces a decision in force by one with another justification or deadline. To change the package's status, a new
 * decision is needed.
 * @throws Problem('not_found'), 'not_under_review' when the decision is not in force, 'validation_error', 'self_approval'
 */
export async function replaceDecision(
  deps: DecideDeps,
  id: number,
  body: DecisionBody,
  actor: Actor,
  check?: Check,
): Promise<DecisionRow> {
  const plan = readPlan(body)
  const changed = await transaction(deps.db, async (tx) => {
    const { decision: old, record: before } = await lockDecision(tx, id)
    check?.(old)
    if (!before || !old.active) throw notInForce(old, before?.status)
    if (!EXCHANGEABLE[old.action].includes(plan.action))
      throw invalidField('action', `${plan.action} cannot replace ${old.action}; revoke that decision and decide again`)
    // The old decision's findings stay covered unless the body names others.
    const covers = plan.cveIds ?? old.covers.map((cover) => cover.id)
    const present = new Set(((before.cve_results ?? []) as Finding[]).map((finding) => finding.id))
    const cveIds = plan.cveIds ?? covers.filter((cve) => present.has(cve))
    await closeDecisions(tx, [id], { at: deps.clock.now(), by: actor.name, note: 'replaced by a later decision' })
    return decideOne(deps, tx, before.id, { ...plan, cveIds }, actor, { event: 'refresh' })
  })
  await cleanUp(deps, [changed])
  return changed.decision
}

/**
 * Revokes a decision: the package goes back to review and stays served.
 * @throws Problem('not_found'), 'not_under_review' when it is not in force or is a rejection, which only a deletion ends
 */
export async function revokeDecision(
  deps: DecideDeps,
  id: number,
  note: string | null,
  actor: Actor,
  check?: Check,
): Promise<DecisionRow> {
  const requireRevocable = (before: DecisionRow) => {
    check?.(before)
    if (!before.active) throw notInForce(before)
    if (before.decision === 'reject')
      throw new Problem('not_under_review', 'a rejection stays in force until the package is deleted', {
        current_status: 'rejected',
      })
  }
  const why = { actor, note: note ?? 'revoked', action: 'DECISION_RESOLVED' as const, check: requireRevocable }
  await endDecision(deps, id, 'revoke', why)
  return findDecision(deps.db, id)
}

/**
 * Marks a decision as resolved: its request was fulfilled. This ends only an awaited upgrade; an approval keeps its
 * package published until it is revoked.
 */
export async function resolveDecision(
  deps: DecideDeps,
  packageIds: readonly number[],
  note: string,
  actor: Actor,
): Promise<DecisionRow> {
  const standing = [...(await activeDecisions(deps.db, packageIds)).values()].flat()
  const found = standing.find((row) => row.resolved_at === null) ?? standing[0]
  if (!found) throw new Problem('not_found', 'no decision is in force')
  return transaction(deps.db, async (tx) => {
    const { decision, record: before } = await lockDecision(tx, found.id)
    if (decision.resolved_at !== null) return decision
    const row = await tx
      .updateTable('decisions')
      .set({
        resolved_at: deps.clock.now(),
        resolved_by: actor.name,
        resolution_note: note,
        active: decision.action !== 'upgrade_required',
      })
      .where('id', '=', decision.id)
      .returningAll()
      .executeTakeFirstOrThrow()
    if (!before) return row
    await changeRecord(
      tx,
      deps.audit,
      before,
      {
        event: 'refresh',
        audit: {
          ...eventBase(before, actor),
          action: 'DECISION_RESOLVED',
          result: 'SUCCESS',
          outcome: before.status,
          detail: note,
          extra: { decision_id: row.id, action: row.action },
        },
      },
      deps.offered(before.distribution),
    )
    return row
  })
}

function notInForce(decision: DecisionRow, status?: string): Problem {
  return new Problem('not_under_review', `the decision ${decision.id} is no longer in force`, {
    current_status: status ?? decision.status,
  })
}
