// Reverts decisions that could not be published.
import { isProblem, Problem } from '../domain/problem.ts'
import { asError } from '../kernel/errors.ts'
import { isStorageFull } from '../kernel/files.ts'
import { changeRecord, lockIfThere, type Changed } from '../packages/records/change-record.ts'
import { inLockOrder, lockRecords } from '../packages/records/lock-order.ts'
import { activeDecisions, closeDecisions, reopenDecisions } from '../packages/records/decisions.ts'
import { findingsOf } from '../packages/records/findings.ts'
import { transaction } from '../store/transaction.ts'
import { withAcceptance } from '../domain/acceptance.ts'
import { givenBack, stateBefore } from './before.ts'
import { REPLACED, type DecideDeps, type DecidedHere } from './decide-one.ts'
import { eventBase, type Actor } from './deps.ts'
import { cleanUp, publishChanges } from './settle.ts'

/**
 * Reverts approvals that were not published: records and earlier decisions are as before.
 * @returns the error for the caller
 */
export async function revertDecisions(
  deps: DecideDeps,
  decided: readonly DecidedHere[],
  actor: Actor,
  failure: unknown,
): Promise<Error> {
  const undone = await transaction(deps.db, async (tx) => {
    await lockRecords(
      tx,
      decided.map(({ before }) => before.id),
    )
    const done: Changed[] = []
    for (const { before, decision, replaced } of inOrder(decided)) {
      const row = await lockIfThere(tx, before.id)
      await closeDecisions(tx, [decision.id], {
        at: deps.clock.now(),
        by: 'system',
        note: 'the index could not be published',
      })
      await reopenDecisions(tx, replaced, REPLACED)
      // Another change was made first, and it stays.
      if (row?.status !== 'published') continue
      done.push(
        await changeRecord(
          tx,
          deps.audit,
          row,
          {
            event: before.served ? 'revoke' : 'unpublishable',
            findings: withAcceptance(findingsOf(row), (await activeDecisions(tx, [row.id])).get(row.id) ?? []),
            ...givenBack(stateBefore(before, replaced)),
            audit: {
              ...eventBase(row, actor),
              action: 'PUBLISH_FAILURE',
              result: 'FAILURE',
              outcome: 'publication_failed',
              detail: 'the approval was reverted',
              extra: { decision_id: decision.id },
            },
          },
          deps.offered(row.distribution),
        ),
      )
    }
    return done
  })
  // Recovery repeats what fails here.
  await publishChanges(deps, undone)
  await cleanUp(deps, undone)
  if (isProblem(failure) || isStorageFull(failure)) return asError(failure)
  return new Problem(
    'publication_failed',
    'the package could not be published; it is still under review',
    {},
    { cause: failure },
  )
}

/** In the order in which every transaction locks distributions. */
function inOrder(decided: readonly DecidedHere[]): DecidedHere[] {
  const byId = new Map(decided.map((one) => [one.before.id, one]))
  return inLockOrder(decided.map(({ before }) => before)).map(({ id }) => byId.get(id) as DecidedHere)
}
