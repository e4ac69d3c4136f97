// The rows of distributions, and what is reported of their initialization.
import type { Offered } from '../formats/format.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'

export interface InitResult {
  codename: string
  format: string
  ok: boolean
  message: string
}

/** Inserts the rows that are missing; changes no existing row. */
export async function ensureDistributions(db: Db, clock: Clock, offered: readonly Offered[]): Promise<void> {
  for (const { format, distribution } of offered) {
    await db
      .insertInto('distributions')
      .values({ codename: distribution.codename, format: format.id, initialized_at: clock.now() })
      .onConflict((c) => c.column('codename').doNothing())
      .execute()
  }
}
