// Undoes decisions within ten minutes: their records are as before, and clients are offered what they were offered before. What clients
// fetched meanwhile stays with them.
import { isProblem, Problem } from '../domain/problem.ts'
import { isRefused, transitionOf } from '../domain/transitions.ts'
import { withAcceptance } from '../domain/acceptance.ts'
import { changeRecord, notUnderReview, type Changed } from '../packages/records/change-record.ts'
import { renderAhead } from '../packages/records/entries.ts'
import { activeDecisions, closeDecisions, notedBefore, reopenDecisions } from '../packages/records/decisions.ts'
import { findingsOf } from '../packages/records/findings.ts'
import { recordsOf } from '../store/records/artifact-query.ts'
import type { DecisionRow } from '../store/tables.ts'
import { transaction } from '../store/transaction.ts'
import { givenBack } from './before.ts'
import { REPLACED, UNDO_MS, type DecideDeps } from './decide-one.ts'
import { eventBase, type Actor } from './deps.ts'
import { findDecision, lockDecision } from './lock-decision.ts'
import { announce, cleanUp, publishChanges } from './settle.ts'

export interface UndoneItem {
  id: number
  /** null when there is no such decision */
  decision: DecisionRow | null
  /** null when it was not undone, for the reason of `problem` */
  change: Changed | null
  problem: Problem | null
}

/**
 * Undoes each decision in a transaction of its own, then publishes each distribution once. A failure does not affect the others.
 * The problems of items: 'not_found'; 'forbidden' when another person decided; 'not_under_review' when it is older than ten minutes, or
 * something else was decided or found since.
 * @throws Problem('publication_failed') or another failure of the index: all is undone, and recovery tries the publication again
 */
export async function undoDecisions(deps: DecideDeps, ids: readonly number[], actor: Actor): Promise<UndoneItem[]> {
  const items: UndoneItem[] = []
  for (const id of new Set(ids)) {
    const item: UndoneItem = { id, decision: null, change: null, problem: null }
    items.push(item)
    try {
      item.decision = await findDecision(deps.db, id)
      item.change = await undoOne(deps, item.decision, actor)
    } catch (error) {
      if (!isProblem(error)) throw error
      item.problem = error
    }
  }
  const changes = items.flatMap(({ change }) => change ?? [])
  if (changes.length === 0) return items
  deps.checkpoint('decided')
  // The file of a rejected package is in quarantine: clients cannot be offered it before it is back in the pool.
  if (changes.some(({ before }) => isRefused(before.status))) await deps.pendingDeletions.run()
  const failure = await publishChanges(deps, changes)
  await cleanUp(deps, changes)
  announce(deps, changes)
  if (failure !== null) throw failure
  return items
}

async function undoOne(deps: DecideDeps, made: DecisionRow, actor: Actor): Promise<Changed> {
  const now = deps.clock.now()
  if (made.decided_by !== actor.name)
    throw new Problem('forbidden', `only ${made.decided_by} can undo this decision; others withdraw it`)
  if (now.getTime() - made.decided_at.getTime() > UNDO_MS) throw tooLate(made, 'it was made more than ten minutes ago')
  const rendered = await renderedAhead(deps, made)
  return transaction(deps.db, async (tx) => {
    const { decision: still, record: before } = await lockDecision(tx, made.id)
    if (!before) throw new Problem('not_found', 'the package is gone')
    const noted = await notedBefore(tx, made.id)
    if (!still.active || before.status !== made.status)
      throw tooLate(made, 'the package was changed since', before.status)
    if (!noted) throw tooLate(made, 'what was before it is not known any more', before.status)
    const event = noted.served ? 'undo_served' : 'undo'
    const transition = transitionOf(before.status, event)
    if (!transition) throw notUnderReview(before)
    await closeDecisions(tx, [made.id], { at: now, by: actor.name, note: 'undone' })
    await reopenDecisions(tx, noted.replaced, REPLACED)
    const standing = (await activeDecisions(tx, [before.id])).get(before.id) ?? []
    return changeRecord(
      tx,
      deps.audit,
      before,
      {
        event,
        rendered,
        findings: withAcceptance(findingsOf(before), standing),
        // A demand for an upgrade left the review as it was, and a scan may have changed it since.
        ...(made.status === made.previous_status ? {} : givenBack(noted)),
        audit: {
          ...eventBase(before, actor),
          action: 'DECISION_UNDONE',
          result: 'WARNING',
          outcome: transition.to,
          detail: `${made.action} of ${Math.round((now.getTime() - made.decided_at.getTime()) / 1000)} s ago`,
          extra: { decision_id: made.id, action: made.action, previous_status: before.status, served: noted.served },
        },
      },
      deps.offered(before.distribution),
    )
  })
}

/** The entries of a rejected record, which clients may be offered again: they are not rendered inside the transaction. */
async function renderedAhead(deps: DecideDeps, { package_id: id, decision }: DecisionRow) {
  const [row] = decision === 'reject' && id !== null ? await recordsOf(deps.db, [id]) : []
  return row ? renderAhead(deps.db, row, deps.offered(row.distribution)) : null
}

function tooLate(made: DecisionRow, why: string, status: string = made.status): Problem {
  return new Problem(
    'not_under_review',
    `the decision about ${made.package} ${made.version} cannot be undone: ${why}`,
    {
      current_status: status,
    },
  )
}
