// Ends a decision: its findings are open again.
import type { Finding } from '../domain/finding.ts'
import { withAcceptance } from '../domain/acceptance.ts'
import { openFindings, reviewDueAt } from '../domain/review-due.ts'
import { changeRecord, type Changed } from '../packages/records/change-record.ts'
import { activeDecisions, closeDecisions } from '../packages/records/decisions.ts'
import { transaction } from '../store/transaction.ts'
import { eventBase, type Actor, type ReviewDeps, NO_REVIEW } from './deps.ts'
import { lockDecision, type Check } from './lock-decision.ts'
import { announce, cleanUp, type CleanUpDeps } from './settle.ts'

export type EndDeps = CleanUpDeps & Pick<ReviewDeps, 'db' | 'clock' | 'audit' | 'settings' | 'offered'>

export interface Ending {
  actor: Actor
  note: string
  action: 'SLA_EXPIRED' | 'DECISION_RESOLVED'
  /** receives the decision before it ends, and throws to keep it */
  check?: Check
}

/**
 * Ends one decision. Its findings are open again: a published package goes back to review and stays served.
 * @returns the change; null when the decision had ended already or its record is gone
 */
export async function endDecision(
  deps: EndDeps,
  id: number,
  event: 'expire' | 'revoke',
  ending: Ending,
): Promise<Changed | null> {
  const now = deps.clock.now()
  const changed = await transaction(deps.db, async (tx) => {
    const { decision, record: before } = await lockDecision(tx, id)
    ending.check?.(decision)
    if (!decision.active) return null
    await closeDecisions(tx, [id], { at: now, by: ending.actor.name, note: ending.note })
    if (!before) return null
    const standing = (await activeDecisions(tx, [before.id])).get(before.id) ?? []
    const findings = withAcceptance((before.cve_results ?? []) as Finding[], standing)
    const returns = before.status === 'published' && decision.decision === 'approve'
    const why = event === 'expire' ? ('decision_expired' as const) : ('decision_withdrawn' as const)
    const due = reviewDueAt(
      now,
      openFindings(findings),
      openFindings(findings).length === 0,
      deps.settings().cve_policy,
    )
    const held = { cve_status: 'pending_review' as const, held_reason: why, review_due_at: due }
    return changeRecord(
      tx,
      deps.audit,
      before,
      {
        event: returns ? event : 'refresh',
        findings,
        set: returns ? held : {},
        review: returns ? { ...NO_REVIEW, review_origin: why, review_since: now } : {},
        audit: {
          ...eventBase(before, ending.actor),
          action: ending.action,
          result: 'WARNING',
          outcome: returns ? 'pending_review' : before.status,
          detail: ending.note,
          extra: { decision_id: id, action: decision.action, expires_at: decision.expires_at },
        },
      },
      deps.offered(before.distribution),
    )
  })
  if (!changed) return null
  await cleanUp(deps, [changed])
  announce(deps, [changed])
  return changed
}
