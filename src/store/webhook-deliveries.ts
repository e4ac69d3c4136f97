// The webhook deliveries of the last 24 hours, so that a repeated delivery is processed only once.
import type { Db } from './db.ts'

const REMEMBERED_MS = 24 * 60 * 60 * 1000

/** Remembers a delivery by each of these keys. @returns false when one of them is already known */
export async function rememberDelivery(db: Db, keys: readonly string[], now: Date): Promise<boolean> {
  await db
    .deleteFrom('webhook_deliveries')
    .where('received_at', '<', new Date(now.getTime() - REMEMBERED_MS))
    .execute()
  const made = await db
    .insertInto('webhook_deliveries')
    .values(keys.map((id) => ({ id, received_at: now })))
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .execute()
  if (made.length === keys.length) return true
  await forgetDelivery(
    db,
    made.map(({ id }) => id),
  )
  return false
}

/** Forgets a delivery, so that it can be sent again. */
export async function forgetDelivery(db: Db, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) await db.deleteFrom('webhook_deliveries').where('id', 'in', keys).execute()
}
