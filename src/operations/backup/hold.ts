// While a backup reads the pool, no bytes are removed from it: files that the dump names must still exist when they are copied.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import { LOCK_REMOVALS, removalsUnderWay } from '../../store/files/placement.ts'

/** A hold of a process that died ends after this time. */
const HOLD_SECONDS = 60
const RENEW_MS = 15_000
const POLL_MS = 100

export interface RemovalHold {
  /** @throws when the hold could not be renewed in time: files may have been removed since */
  check(): void
  release(): Promise<void>
}

/** Keeps all processes from removing package bytes. Resolves when removals that have already begun have ended. */
export async function holdRemovals(db: Db, signal: AbortSignal): Promise<RemovalHold> {
  const id = randomUUID()
  let renewedAt = performance.now()
  const until = sql<Date>`now() + ${HOLD_SECONDS}::int * interval '1 second'`
  await transaction(db, async (tx) => {
    // A removal that did not see the hold has committed its claim before this transaction commits.
    await sql`select pg_advisory_xact_lock(${LOCK_REMOVALS})`.execute(tx)
    await sql`delete from removal_holds where until < now()`.execute(tx)
    await tx.insertInto('removal_holds').values({ id, until }).execute()
  })
  const renew = async () => {
    await db.updateTable('removal_holds').set({ until }).where('id', '=', id).execute()
    renewedAt = performance.now()
  }
  // `check` reports a failed renewal.
  const timer = setInterval(() => void renew().catch(() => {}), RENEW_MS)
  const release = async () => {
    clearInterval(timer)
    await db.deleteFrom('removal_holds').where('id', '=', id).execute()
  }
  try {
    while (await removalsUnderWay(db)) await delay(POLL_MS, undefined, { signal })
  } catch (error) {
    await release().catch(() => {})
    throw error
  }
  return {
    release,
    check() {
      if (performance.now() - renewedAt > (HOLD_SECONDS * 1000) / 2)
        throw new Error('package files could not be kept from being removed: the database did not answer')
    },
  }
}
