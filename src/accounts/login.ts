// Login with name and password, local accounts before the directory. Neither the answer nor its timing reveals why a login failed.
import { sql } from 'kysely'
import type { Origin } from '../domain/audit.ts'
import { isProblem, Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import { change, type ChangeDeps } from './change.ts'
import type { Checked, Passwords } from './passwords.ts'
import { guessKey } from './guess-key.ts'
import type { LdapLogin } from './ldap/ldap-login.ts'
import type { LoginAnswer, SecondStep } from './second-step.ts'
import type { Slowing } from './slowing.ts'
import { usernameKey, type UserRow } from './user.ts'

/**
 * Checks a password, and opens a session or asks for a code.
 * @param signal ends the delay of a client that has disconnected
 * @throws Problem `unauthorized` with the same sentence for every reason; `rate_limited` when too many logins wait;
 * `ldap_unavailable` for names without a local account
 */
export type Login = (
  credentials: { username: string; password: string },
  origin: Origin,
  signal?: AbortSignal,
) => Promise<LoginAnswer>

/** The highest bcrypt cost among all accounts: every refusal must take as long. Null when no imported hash is left. */
export async function importedCost(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('users')
    .select(sql<number | null>`max(substr(password_hash, 5, 2)::int)`.as('cost'))
    .where('password_hash', 'like', '$2%')
    .executeTakeFirst()
  return row?.cost ?? null
}

export function createLogin(
  deps: ChangeDeps & { clock: Clock; passwords: Passwords; secondStep: SecondStep; slowing: Slowing; ldap: LdapLogin },
): Login {
  const { db, audit, clock, passwords, secondStep, slowing, ldap } = deps

  /** @returns null when the account changed since the check: disabled, deleted, or its password replaced */
  async function admit(row: UserRow, password: string, checked: Checked, origin: Origin): Promise<LoginAnswer | null> {
    const rehash = checked.stale ? { password_hash: await passwords.hash(password) } : {}
    return change(deps, row.username, origin, async (tx, note) => {
      const user = await tx
        .updateTable('users')
        .set({
          // With a second factor the login is not complete yet.
          last_login: sql<Date | null>`case when mfa_enabled then last_login else ${clock.now()}::timestamptz end`,
          ...rehash,
        })
        .where('id', '=', row.id)
        .where('active', '=', true)
        .where('password_hash', '=', row.password_hash)
        .returningAll()
        .executeTakeFirst()
      return user ? secondStep.admit(user, tx, note) : null
    })
  }

  async function refuse(username: string, origin: Origin, outcome: string, detail: string): Promise<void> {
    const event = { action: 'LOGIN', result: 'FAILURE', user: printable(username), detail, outcome } as const
    await audit.record({ ...event, ip: origin.ip, requestId: origin.requestId })
  }

  /** Records that the directory gave no answer, and rethrows the error. */
  function recorded(username: string, origin: Origin): (error: unknown) => Promise<never> {
    return async (error) => {
      if (isProblem(error)) await refuse(username, origin, error.code, error.detail)
      throw error
    }
  }

  return async ({ username, password }, origin, signal) => {
    const key = guessKey(username, origin)
    await slowing.attempt(key, signal)

    let reason = 'changed meanwhile'
    // Retried when a parallel login renewed the hash of the same account.
    for (let attempt = 0; attempt < 3; attempt++) {
      const [row, cost] = await Promise.all([
        db.selectFrom('users').selectAll().where('username_key', '=', usernameKey(username)).executeTakeFirst(),
        importedCost(db),
      ])
      // A disabled account is checked like an unknown name, so that timing does not reveal a right password.
      const stored = row?.active && row.auth_source === 'local' ? row.password_hash : null
      const checked = await passwords.check(password, stored, cost)
      if (ldap.isAsked(username, row)) {
        const answer = await ldap.login({ username, password }, origin).catch(recorded(username, origin))
        if (!('refused' in answer)) {
          slowing.succeeded(key)
          return answer
        }
        reason = answer.refused
        break
      }
      if (!row || !checked.ok || !row.active) {
        reason = !row
          ? 'unknown user'
          : !row.active
            ? 'account disabled'
            : stored === null
              ? 'no local password'
              : 'wrong password'
        break
      }
      const answer = await admit(row, password, checked, origin)
      if (answer) {
        slowing.succeeded(key)
        return answer
      }
    }
    await refuse(username, origin, 'unauthorized', reason)
    throw new Problem('unauthorized', 'the user name or the password is wrong')
  }
}

/** The attempted name without control characters, for the audit log; null when it is empty. */
function printable(name: string): string | null {
  return name.slice(0, 64).replace(/[^\P{C}]/gu, '?') || null
}
