// The claim under which files are removed from a distribution's tree.
//
// Removing files takes no lock that uploads wait for. A cleaning claims the distribution's row (`cleaning_token`), removes
// what it listed under the row's lock, then gives the claim back. A publish that reads its index while a claim is held
// waits for its end; one that began before the claim is not made visible and starts again (`flip` compares `cleanings`).
// So no generation goes live that was written while files were being removed.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'

/** A claim is void after this time: its process died. Its holder stops removing at half of it. */
const CLAIM_SECONDS = 10
const POLL_MS = 10

/** Whether somebody holds the claim; for a select from `distributions`. */
export const isBeingCleaned = sql<boolean>`(cleaning_token is not null
  and cleaning_since >= now() - ${sql.lit(CLAIM_SECONDS)} * interval '1 second')`

export interface Claim {
  token: string
  /** @throws when the claim is so old that another process may take it */
  check(): void
}

/** Claims a distribution unless somebody is cleaning it. */
export function claimIfFree(db: Db, codename: string): Promise<Claim | 'busy' | 'missing'> {
  return transaction(db, async (tx) => {
    const row = await tx
      .selectFrom('distributions')
      .select(isBeingCleaned.as('isBusy'))
      .where('codename', '=', codename)
      .forUpdate()
      .executeTakeFirst()
    if (!row) return 'missing'
    return row.isBusy ? 'busy' : claimCleaning(tx, codename)
  })
}

/** Call it in a transaction that holds the row's lock and has read `isBeingCleaned` as false. */
export async function claimCleaning(tx: Db, codename: string): Promise<Claim> {
  const token = randomUUID()
  const stopAt = performance.now() + (CLAIM_SECONDS * 1000) / 2
  await tx
    .updateTable('distributions')
    .set((eb) => ({ cleaning_token: token, cleaning_since: sql<Date>`now()`, cleanings: eb('cleanings', '+', 1) }))
    .where('codename', '=', codename)
    .execute()
  return {
    token,
    check() {
      if (performance.now() > stopAt) throw new Error(`cleaning ${codename} took too long; it goes on next time`)
    },
  }
}

/** @returns false when another process has taken over the claim */
export async function endCleaning(tx: Db, codename: string, { token }: Claim): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('distributions')
    .set({ cleaning_token: null, cleaning_since: null })
    .where('codename', '=', codename)
    .where('cleaning_token', '=', token)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Waits until nobody removes files from the distribution's tree. */
export async function cleaningEnded(db: Db, codename: string): Promise<void> {
  for (;;) {
    const row = await db
      .selectFrom('distributions')
      .select(isBeingCleaned.as('active'))
      .where('codename', '=', codename)
      .executeTakeFirst()
    if (!row?.active) return
    await delay(POLL_MS)
  }
}
