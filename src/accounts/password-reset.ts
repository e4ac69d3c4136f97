// Password reset with a one-use token.
import { sql } from 'kysely'
import type { Origin } from '../domain/audit.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import { randomToken, sha256Hex } from '../kernel/crypto.ts'
import { createSerial } from '../kernel/serial.ts'
import { change, type ChangeDeps } from './change.ts'
import { requireStrong, type Passwords } from './passwords.ts'
import { replacePassword } from './replace-password.ts'
import { usernameKey, type UserRow } from './user.ts'

/** How long a token works (docs/api-decisions.md, section 3). */
export const RESET_MINUTES = 30
const TOKEN_LIFE_MS = RESET_MINUTES * 60_000
/** Requests that may wait; more are dropped, because they are unauthenticated and cost memory. */
const LONGEST_QUEUE = 1000
/** Accounts with one mail address that each get a link; further ones get none. */
const ACCOUNTS_PER_ADDRESS = 10

export type ResetRecipient = Pick<UserRow, 'id' | 'username' | 'email' | 'full_name'>

export interface PasswordReset {
  /**
   * Requests a token. Returns before any account is looked up, so neither answer nor timing reveals whether one exists.
   * Accounts that are disabled, external or have no mail address get none.
   * @throws Problem `validation_error` when neither name nor address is given
   */
  request(wanted: { username?: string; email?: string }): { status: 'ok'; message: string }
  /**
   * Replaces the password and ends all sessions of the user. A weak password leaves the token usable.
   * @throws Problem `weak_password`, `reset_token_invalid`
   */
  complete(wanted: { token: string; new_password: string }, origin: Origin): Promise<{ status: 'ok'; message: string }>
  /** Resolves when all requests so far are processed; for shutdown. */
  settled(): Promise<void>
}

/** @param deps.deliverReset sends the plain token to the account's owner; only its hash is stored */
export function createPasswordReset(
  deps: ChangeDeps & {
    clock: Clock
    passwords: Passwords
    deliverReset: (user: ResetRecipient, token: string) => Promise<void>
  },
): PasswordReset {
  const { db, clock, passwords, deliverReset } = deps
  const inTurn = createSerial()
  let queued = 0

  async function issue(wanted: { username?: string; email?: string }): Promise<void> {
    const users = await db
      .selectFrom('users')
      .select(['id', 'username', 'email', 'full_name'])
      .where('active', '=', true)
      .where('auth_source', '=', 'local')
      .where('email', '!=', '')
      .where((is) =>
        wanted.username === undefined
          ? is(sql<string>`lower(email)`, '=', sql<string>`lower(${wanted.email ?? ''})`)
          : is('username_key', '=', usernameKey(wanted.username)),
      )
      .orderBy('id')
      .limit(ACCOUNTS_PER_ADDRESS)
      .execute()
    for (const user of users) {
      const token = randomToken(32)
      const values = { token_hash: sha256Hex(token), expires_at: new Date(clock.now().getTime() + TOKEN_LIFE_MS) }
      await db
        .insertInto('password_resets')
        .values({ user_id: user.id, ...values })
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet(values))
        .execute()
      await deliverReset(user, token)
    }
  }

  const invalid = () =>
    new Problem('reset_token_invalid', 'this link was used, has expired or was never valid; ask for a new one')

  return {
    request(wanted) {
      if (!wanted.username && !wanted.email) throw invalidField('username', 'a user name or a mail address is needed')
      const asked = wanted.username
        ? { username: wanted.username }
        : { email: (wanted.email ?? '').replaceAll('\0', '') }
      if (queued < LONGEST_QUEUE) {
        queued++
        void inTurn(() => issue(asked))
          .catch(deps.onError)
          .finally(() => queued--)
      }
      return {
        status: 'ok',
        message: 'if there is such an account with a mail address, a link to set a new password is on its way',
      }
    },

    async complete(wanted, origin) {
      requireStrong(wanted.new_password)
      const token_hash = sha256Hex(wanted.token)
      // Checked before hashing, which is expensive, so that guesses cost little.
      const known = await db
        .selectFrom('password_resets')
        .innerJoin('users', 'users.id', 'password_resets.user_id')
        .select('users.username')
        .where('token_hash', '=', token_hash)
        .where('password_resets.expires_at', '>', clock.now())
        .where('users.active', '=', true)
        .executeTakeFirst()
      if (!known) throw invalid()
      const hash = await passwords.hash(wanted.new_password)
      await change(deps, known.username, origin, async (tx, note) => {
        const used = await tx
          .deleteFrom('password_resets')
          .where('token_hash', '=', token_hash)
          .where('expires_at', '>', clock.now())
          .returning('user_id')
          .executeTakeFirst()
        if (!used || !(await replacePassword(tx, { userId: used.user_id, hash }))) throw invalid()
        await note('PASSWORD_RESET', `password of ${known.username} set by a reset token`, { username: known.username })
      })
      return { status: 'ok', message: 'the password was set; log in with it' }
    },

    settled: () => inTurn(async () => {}),
  }
}
