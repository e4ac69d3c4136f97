// The one way a password is replaced, and what ends with the old one. Must not know who may do it.
import type { Db } from '../store/db.ts'

/**
 * Sets the hash of an active or inactive local account, ends its sessions and its unused reset token.
 * @param change.expected the hash this one replaces; when it is no longer in place nothing happens
 * @param change.keepSession the session that stays: that of the person doing it
 * @returns whether it was replaced
 */
export async function replacePassword(
  tx: Db,
  change: { userId: number; hash: string; expected?: string; keepSession?: string | null },
): Promise<boolean> {
  const { userId, hash, expected, keepSession } = change
  const replaced = await tx
    .updateTable('users')
    .set({ password_hash: hash })
    .where('id', '=', userId)
    .where('auth_source', '=', 'local')
    .$if(expected !== undefined, (query) => query.where('password_hash', '=', expected ?? null))
    .returning('id')
    .executeTakeFirst()
  if (!replaced) return false
  await tx
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .$if(Boolean(keepSession), (query) => query.where('jti', '!=', keepSession ?? ''))
    .execute()
  await tx.deleteFrom('password_resets').where('user_id', '=', userId).execute()
  return true
}
