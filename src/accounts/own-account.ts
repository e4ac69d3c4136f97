// What callers may see and change of their own account.
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { Role } from '../domain/roles.ts'
import type { Scopes } from '../domain/scopes.ts'
import { change, type ChangeDeps } from './change.ts'
import { requireStrong, type Passwords } from './passwords.ts'
import { replacePassword } from './replace-password.ts'
import type { Slowing } from './slowing.ts'
import { guessKey } from './guess-key.ts'
import { importedCost } from './login.ts'
import { personOf, userOf, type User } from './user.ts'

/** The user without its id; for an API token everything but name, role, scopes and `active` is null. */
export type Me = {
  username: string
  role: Role
  active: boolean
  scopes: Scopes | null
  mfa_enrolment_required: boolean
} & {
  [K in 'full_name' | 'email' | 'auth_source' | 'mfa_enabled' | 'created_at' | 'last_login']: User[K] | null
}

export interface OwnAccount {
  /** @throws Problem `unauthorized` when the account was deleted since the request began */
  me(caller: Caller): Promise<Me>
  /**
   * Replaces the password and ends the person's other sessions. Wrong guesses are delayed like failed logins.
   * @throws Problem `session_required`, `weak_password`, `external_account`, `wrong_password`
   */
  changePassword(
    caller: Caller,
    wanted: { current_password: string; new_password: string },
    origin: Origin,
    signal?: AbortSignal,
  ): Promise<{ status: 'ok'; message: string }>
}

export function createOwnAccount(deps: ChangeDeps & { passwords: Passwords; slowing: Slowing }): OwnAccount {
  const { db, audit, passwords, slowing } = deps
  const gone = () => new Problem('unauthorized', 'a valid credential is needed')

  return {
    async me(caller) {
      if (caller.kind === 'token') {
        const nothing = {
          full_name: null,
          email: null,
          auth_source: null,
          mfa_enabled: null,
          created_at: null,
          last_login: null,
          mfa_enrolment_required: false,
        }
        return { username: caller.name, role: caller.role, active: true, scopes: caller.scopes ?? null, ...nothing }
      }
      const row = await db.selectFrom('users').selectAll().where('id', '=', caller.ownerId).executeTakeFirst()
      if (!row) throw gone()
      const { id: _hidden, suspended_at: _never, ...me } = userOf(row)
      return { ...me, scopes: null, mfa_enrolment_required: caller.mustEnrol === true }
    },

    async changePassword(caller, wanted, origin, signal) {
      const person = personOf(caller)
      requireStrong(wanted.new_password)
      const row = await db.selectFrom('users').selectAll().where('id', '=', person.id).executeTakeFirst()
      if (!row) throw gone()
      if (row.auth_source !== 'local' || row.password_hash === null) {
        throw new Problem('external_account', 'the password of this account is kept elsewhere')
      }
      const key = guessKey(row.username, origin)
      await slowing.attempt(key, signal)
      const { ok } = await passwords.check(wanted.current_password, row.password_hash, await importedCost(db))
      const wrong = async () => {
        const event = {
          action: 'PASSWORD_CHANGE',
          result: 'FAILURE',
          user: person.name,
          outcome: 'wrong_password',
        } as const
        await audit.record({ ...event, ip: origin.ip, requestId: origin.requestId })
        return new Problem('wrong_password', 'the current password is wrong')
      }
      if (!ok) throw await wrong()
      slowing.succeeded(key)
      const hash = await passwords.hash(wanted.new_password)
      const expected = row.password_hash
      const replaced = await change(deps, person.name, origin, async (tx, note) => {
        if (!(await replacePassword(tx, { userId: person.id, hash, expected, keepSession: person.jti }))) return false
        await note('PASSWORD_CHANGE', 'own password changed')
        return true
      })
      // Another request set another password in between.
      if (!replaced) throw await wrong()
      return { status: 'ok', message: 'the password was changed; your other sessions have ended' }
    },
  }
}
