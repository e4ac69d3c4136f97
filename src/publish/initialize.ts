// First and repeated initialization of distributions: their rows, then an index that clients can read, even an empty one.
import { isProblem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import type { Offered } from '../formats/format.ts'
import type { Publisher } from './publisher.ts'

export interface InitResult {
  codename: string
  format: string
  ok: boolean
  message: string
}

/** Makes the rows that are missing; changes nothing that is there. */
export async function ensureDistributions(db: Db, clock: Clock, offered: readonly Offered[]): Promise<void> {
  for (const { format, distribution } of offered) {
    await db
      .insertInto('distributions')
      .values({ codename: distribution.codename, format: format.id, initialized_at: clock.now() })
      .onConflict((c) => c.column('codename').doNothing())
      .execute()
  }
}

/** Renders every index anew from the database; a distribution that fails does not stop the others. */
export async function initializeDistributions(
  db: Db,
  clock: Clock,
  publisher: Publisher,
  offered: readonly Offered[],
): Promise<InitResult[]> {
  await ensureDistributions(db, clock, offered)
  const results: InitResult[] = []
  for (const { format, distribution } of offered) {
    const { codename } = distribution
    try {
      await publisher.rebuild(codename)
      results.push({ codename, format: format.id, ok: true, message: 'published' })
    } catch (error) {
      results.push({ codename, format: format.id, ok: false, message: isProblem(error) ? error.detail : 'failed' })
    }
  }
  return results
}
