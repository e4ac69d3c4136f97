// A person quarantines a package, whatever was decided before: it leaves the index, and its file leaves the pool.
import type { Finding } from '../domain/finding.ts'
import { transitionOf } from '../domain/transitions.ts'
import { changeRecord, lockRecord, notUnderReview, type Changed } from '../packages/records/change-record.ts'
import { inLockOrder, lockRecords } from '../packages/records/lock-order.ts'
import { headRows, type RecordSelector } from '../store/records/artifact-query.ts'
import { activeDecisions, closeDecisions } from '../packages/records/decisions.ts'
import { transaction } from '../store/transaction.ts'
import { withAcceptance } from '../domain/acceptance.ts'
import { eventBase, NO_REVIEW, NOT_HELD, noSuchPackage, type Actor, type ReviewDeps } from './deps.ts'
import { announce, cleanUp, publishChanges, type CleanUpDeps } from './settle.ts'

/**
 * Quarantines every matching record that can be quarantined, and returns when clients see none of them.
 * @throws Problem('not_found', 'not_under_review' when all of them are quarantined or rejected, 'publication_failed')
 */
export async function quarantine(
  deps: CleanUpDeps & Pick<ReviewDeps, 'db' | 'clock' | 'audit' | 'checkpoint' | 'offered'>,
  selector: RecordSelector,
  reason: string | null,
  actor: Actor,
): Promise<Changed[]> {
  const rows = await headRows(deps.db, selector)
  const newest = rows.at(-1)
  if (!newest) throw noSuchPackage(selector)
  const reachable = rows.filter((row) => transitionOf(row.status, 'quarantine'))
  if (reachable.length === 0) throw notUnderReview(newest)
  const changes = await transaction(deps.db, async (tx) => {
    await lockRecords(
      tx,
      reachable.map(({ id }) => id),
    )
    const done: Changed[] = []
    for (const { id } of inLockOrder(reachable)) {
      const before = await lockRecord(tx, id)
      const standing = (await activeDecisions(tx, [id])).get(id) ?? []
      await closeDecisions(
        tx,
        standing.map((decision) => decision.id),
        { at: deps.clock.now(), by: actor.name, note: 'quarantined' },
      )
      done.push(
        await changeRecord(
          tx,
          deps.audit,
          before,
          {
            event: 'quarantine',
            findings: withAcceptance((before.cve_results ?? []) as Finding[], []),
            set: NOT_HELD,
            review: { ...NO_REVIEW, quarantined_at: deps.clock.now(), quarantined_by: actor.name },
            audit: {
              ...eventBase(before, actor),
              action: 'QUARANTINE',
              result: 'SUCCESS',
              outcome: 'quarantined',
              detail: reason,
              extra: { previous_status: before.status, sha256: before.sha256 },
            },
          },
          deps.offered(before.distribution),
        ),
      )
    }
    return done
  })
  deps.checkpoint('decided')
  const failure = await publishChanges(deps, changes)
  await cleanUp(deps, changes)
  announce(deps, changes)
  if (failure !== null) throw failure
  return changes
}
