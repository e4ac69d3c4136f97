// A person takes a package away, whatever was decided before: out of the index, its bytes apart.
import { Problem } from '../domain/problem.ts'
import type { Finding } from '../domain/finding.ts'
import { transitionOf } from '../domain/transitions.ts'
import { changeRecord, lockRecord, notUnderReview, type Changed } from '../records/change-record.ts'
import { selectRecords, type RecordSelector } from '../store/records/artifact-query.ts'
import { activeDecisions, closeDecisions } from '../store/records/decisions.ts'
import { withAcceptance } from './coverage.ts'
import { eventBase, inLockOrder, NO_REVIEW, type Actor, type ReviewDeps } from './deps.ts'
import { announce, cleanUp, publishChanges } from './settle.ts'

/**
 * Quarantines every record the selector means that can be, and answers once clients see none of them.
 * @throws Problem('not_found', 'not_under_review' when all of them are quarantined or rejected, 'publication_failed')
 */
export async function quarantine(
  parts: ReviewDeps,
  selector: RecordSelector,
  reason: string | null,
  actor: Actor,
): Promise<Changed[]> {
  const rows = await selectRecords(parts.db, selector)
  const newest = rows.at(-1)
  if (!newest)
    throw new Problem(
      'not_found',
      `there is no package ${[selector.name, selector.version, selector.distribution, selector.arch].filter(Boolean).join(' ')}`,
    )
  const reachable = rows.filter((row) => transitionOf(row.status, 'quarantine'))
  if (reachable.length === 0) throw notUnderReview(newest)
  const changes = await parts.db.transaction().execute(async (tx) => {
    const done: Changed[] = []
    for (const { id } of inLockOrder(reachable)) {
      const before = await lockRecord(tx, id)
      const standing = (await activeDecisions(tx, [id])).get(id) ?? []
      await closeDecisions(
        tx,
        standing.map((decision) => decision.id),
        { at: parts.clock.now(), by: actor.name, note: 'quarantined' },
      )
      done.push(
        await changeRecord(
          tx,
          parts.audit,
          before,
          {
            event: 'quarantine',
            findings: withAcceptance((before.cve_results ?? []) as Finding[], []),
            set: { ...NO_REVIEW, quarantined_at: parts.clock.now(), quarantined_by: actor.name },
            audit: {
              ...eventBase(before, actor),
              action: 'QUARANTINE',
              result: 'SUCCESS',
              outcome: 'quarantined',
              detail: reason,
              extra: { previous_status: before.status, sha256: before.sha256 },
            },
          },
          parts.offered(before.distribution),
        ),
      )
    }
    return done
  })
  parts.checkpoint('decided')
  const failure = await publishChanges(parts, changes)
  await cleanUp(parts, changes)
  announce(parts, changes)
  if (failure !== null) throw failure
  return changes
}
