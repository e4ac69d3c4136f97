// Decisions after they were made: how they look, and changing, withdrawing, assigning and resolving them.
import type { Finding } from '../domain/finding.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import type { DecisionAction } from '../domain/status.ts'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import { changeRecord, lockIfThere } from '../records/change-record.ts'
import { activeDecisions, closeDecisions } from '../store/records/decisions.ts'
import type { DecisionRow } from '../store/tables.ts'
import type { Db } from '../store/db.ts'
import { decideOne } from './decide.ts'
import { eventBase, type Actor, type ReviewDeps } from './deps.ts'
import { readPlan, type DecisionBody } from './plan.ts'
import { cleanUp } from './settle.ts'
import { endDecision, slaOf } from './sla.ts'

/** A decision as clients see it (decisions, section 9). */
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

export async function findDecision(db: Db, id: number): Promise<DecisionRow> {
  const row = await db.selectFrom('decisions').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw new Problem('not_found', `there is no decision ${id}`)
  return row
}

/** Which kinds may take another's place without changing the record's status. */
const EXCHANGEABLE: Record<DecisionAction, readonly DecisionAction[]> = {
  accept_risk: ['accept_risk', 'exception'],
  exception: ['accept_risk', 'exception'],
  reject: ['reject'],
  upgrade_required: ['upgrade_required'],
}

/**
 * Puts a new decision in the place of one in force: other words, another deadline. What would change the package's status
 * is decided anew instead.
 * @throws Problem('not_found'), 'not_under_review' when the decision is not in force, 'validation_error', 'self_approval'
 */
export async function replaceDecision(
  parts: ReviewDeps,
  id: number,
  body: DecisionBody,
  actor: Actor,
): Promise<DecisionRow> {
  const plan = readPlan(body)
  const old = await findDecision(parts.db, id)
  const changed = await parts.db.transaction().execute(async (tx) => {
    const before = old.package_id === null ? null : await lockIfThere(tx, old.package_id)
    const still = await findDecision(tx, id)
    if (!before || !still.active) throw notInForce(still, before?.status)
    if (!EXCHANGEABLE[old.action].includes(plan.action))
      throw invalidField('action', `cannot take the place of ${old.action}; withdraw it, and decide again`)
    // Named findings stay the old decision's, unless others are named.
    const covers = plan.cveIds ?? still.covers.map((cover) => cover.id)
    const present = new Set(((before.cve_results ?? []) as Finding[]).map((finding) => finding.id))
    const cveIds = plan.cveIds ?? covers.filter((cve) => present.has(cve))
    await closeDecisions(tx, [id], { at: parts.clock.now(), by: actor.name, note: 'replaced by a later decision' })
    return decideOne(parts, tx, before.id, { ...plan, cveIds }, actor, 'refresh')
  })
  await cleanUp(parts, [changed])
  return changed.decision
}

/**
 * Takes a decision back: what it let pass goes to review again, still served.
 * @throws Problem('not_found'), 'not_under_review' when it is not in force, or is a rejection, which stands until its package is deleted
 */
export async function revokeDecision(
  parts: ReviewDeps,
  id: number,
  note: string | null,
  actor: Actor,
): Promise<DecisionRow> {
  const decision = await findDecision(parts.db, id)
  if (!decision.active) throw notInForce(decision)
  if (decision.decision === 'reject')
    throw new Problem('not_under_review', 'a rejection stands until the package is deleted', {
      current_status: 'rejected',
    })
  await endDecision(parts, decision, 'revoke', { actor, note: note ?? 'withdrawn', action: 'DECISION_RESOLVED' })
  const after = await findDecision(parts.db, id)
  if (after.active) throw notInForce(after)
  return after
}

/**
 * Notes that what a decision asked for was done. Only an awaited upgrade ends by it: what keeps a package published
 * goes on doing so until it is withdrawn.
 */
export async function resolveDecision(
  parts: ReviewDeps,
  packageIds: readonly number[],
  note: string,
  actor: Actor,
): Promise<DecisionRow> {
  const standing = [...(await activeDecisions(parts.db, packageIds)).values()].flat()
  const decision = standing.find((row) => row.resolved_at === null) ?? standing[0]
  if (!decision) throw new Problem('not_found', 'no decision is in force')
  if (decision.resolved_at !== null) return decision
  return parts.db.transaction().execute(async (tx) => {
    const before = decision.package_id === null ? null : await lockIfThere(tx, decision.package_id)
    const [row] = await tx
      .updateTable('decisions')
      .set({
        resolved_at: parts.clock.now(),
        resolved_by: actor.name,
        resolution_note: note,
        active: decision.action !== 'upgrade_required',
      })
      .where('id', '=', decision.id)
      .where('resolved_at', 'is', null)
      .returningAll()
      .execute()
    if (!row || !before) return findDecision(tx, decision.id)
    await changeRecord(
      tx,
      parts.audit,
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
      parts.offered(before.distribution),
    )
    return row
  })
}

/** @param to a user's name, or null for nobody. @throws Problem('not_found'), 'validation_error' when there is no such active user */
export async function assignDecision(
  parts: ReviewDeps,
  id: number,
  to: string | null,
  actor: Actor,
): Promise<DecisionRow> {
  const decision = await findDecision(parts.db, id)
  const user =
    to === null
      ? null
      : await parts.db
          .selectFrom('users')
          .select('username')
          .where('username_key', '=', to.toLowerCase())
          .where('active', '=', true)
          .executeTakeFirst()
  if (user === undefined) throw invalidField('assigned_to', 'is no active user')
  const name = user?.username ?? null
  return parts.db.transaction().execute(async (tx) => {
    const row = await tx
      .updateTable('decisions')
      .set({ assigned_to: name, assigned_at: name === null ? null : parts.clock.now() })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
    if (decision.package_id !== null)
      await tx.updateTable('packages').set({ manifest_pending: true }).where('id', '=', decision.package_id).execute()
    const named = { package: row.package, version: row.version, distribution: row.distribution, arch: row.arch }
    await parts.audit.record(
      {
        ...named,
        user: actor.name,
        ip: actor.origin.ip,
        requestId: actor.origin.requestId,
        action: 'SECURITY_DECISION',
        result: 'SUCCESS',
        outcome: 'assigned',
        detail: name === null ? 'assigned to nobody' : `assigned to ${name}`,
        extra: { decision_id: id },
      },
      tx,
    )
    return row
  })
}

function notInForce(decision: DecisionRow, status?: string): Problem {
  return new Problem('not_under_review', `the decision ${decision.id} is not in force any more`, {
    current_status: status ?? decision.status,
  })
}
