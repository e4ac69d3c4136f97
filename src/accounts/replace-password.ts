// Replaces a password and ends what depended on the old one.
import type { Db } from '../store/db.ts'

/**
 * Sets the hash of a local account, ends its sessions and logins that wait for a code, and deletes its reset token.
 * @param change.expected the hash to replace; nothing happens when the account has another one
 * @param change.keepSession the session that survives: that of the person who changes the password
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
  await tx.deleteFrom('mfa_challenges').where('user_id', '=', userId).execute()
  await tx.deleteFrom('password_resets').where('user_id', '=', userId).execute()
  return true
}
