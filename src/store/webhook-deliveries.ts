// The webhook deliveries of the last 24 hours, so that one that is sent twice is processed once.
import type { Db } from './db.ts'

const REMEMBERED_MS = 24 * 60 * 60 * 1000

/** Remembers a delivery. @returns false when it is known already */
export async function rememberDelivery(db: Db, id: string, now: Date): Promise<boolean> {
  await db
    .deleteFrom('webhook_deliveries')
    .where('received_at', '<', new Date(now.getTime() - REMEMBERED_MS))
    .execute()
  const made = await db
    .insertInto('webhook_deliveries')
    .values({ id, received_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return made !== undefined
}

/** Lets a delivery be sent again. */
export async function forgetDelivery(db: Db, id: string): Promise<void> {
  await db.deleteFrom('webhook_deliveries').where('id', '=', id).execute()
}
