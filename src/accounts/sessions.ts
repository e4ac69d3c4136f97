// Sessions: a JWT and the row that keeps it valid.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { change, type ChangeDeps } from './change.ts'
import type { Jwt } from './jwt.ts'
import { personOf, type UserRow } from './user.ts'

/** Time since the login after which a refresh is refused (docs/api-decisions.md, section 3). */
const OLDEST_SESSION_MS = 12 * 3_600_000
/** Expired rows removed with each login. */
const CLEANED_AT_ONCE = 100

export interface SessionAnswer {
  access_token: string
  token_type: 'bearer'
  /** seconds */
  expires_in: number
  mfa_required: false
}

export interface Sessions {
  /**
   * Opens a session in the transaction of the login; also removes some expired ones.
   * @param startedAt when the person logged in: now, unless another session stands for it
   */
  begin(user: UserRow, tx: Db, startedAt?: Date): Promise<SessionAnswer>
  /**
   * Replaces the session by a new one that counts from the same login; the old JWT becomes invalid.
   * @throws Problem `unauthorized` 12 h after the login, `session_required`
   */
  refresh(caller: Caller): Promise<SessionAnswer>
  /**
   * @returns with `end_session_url` if the browser must end the session at the provider as well
   * @throws Problem `session_required`
   */
  end(caller: Caller, origin: Origin): Promise<{ status: 'logged_out'; end_session_url?: string }>
  /** The session that a JWT names; null unless it is an unaltered, unexpired access token. Does not read the row. */
  read(text: string): Promise<{ jti: string; subject: string } | null>
}

/** @param deps.expireMinutes life of one JWT */
export function createSessions(
  deps: ChangeDeps & {
    clock: Clock
    jwt: Jwt
    expireMinutes: number
    settings: () => Pick<Settings, 'oidc'>
    /** asks the directory whether it still has an account. @throws Problem `unauthorized` when it is gone */
    confirm(userId: number): Promise<void>
    /** the address where a session at the provider ends; null to leave it open */
    endSessionUrl(): Promise<string | null>
  },
): Sessions {
  const { db, clock, jwt } = deps
  const lifeSeconds = Math.round(deps.expireMinutes * 60)

  async function sign(user: UserRow, jti: string, now: Date): Promise<SessionAnswer> {
    const claims = { role: user.role, full_name: user.full_name }
    const token = await jwt.sign('access', { jti, subject: user.username, now, lifeSeconds, claims })
    return { access_token: token, token_type: 'bearer', expires_in: lifeSeconds, mfa_required: false }
  }

  const expiryFrom = (now: Date) => new Date(now.getTime() + lifeSeconds * 1000)

  return {
    async begin(user, tx, startedAt) {
      const now = clock.now()
      const jti = randomUUID()
      await tx
        .insertInto('sessions')
        .values({ jti, user_id: user.id, started_at: startedAt ?? now, expires_at: expiryFrom(now) })
        .execute()
      // Skips rows that another login is removing, so that two logins never wait for each other.
      await sql`delete from sessions where jti in (select jti from sessions where expires_at <= ${now}
        limit ${CLEANED_AT_ONCE} for update skip locked)`.execute(tx)
      return sign(user, jti, now)
    },

    async refresh(caller) {
      const person = personOf(caller)
      await deps.confirm(person.id)
      const now = clock.now()
      const jti = randomUUID()
      const oldestOidc = Math.min(OLDEST_SESSION_MS, deps.settings().oidc.session_hours * 3_600_000)
      const user = await transaction(db, async (tx) => {
        const session = await tx
          .updateTable('sessions')
          .set({ jti, expires_at: expiryFrom(now) })
          .where('jti', '=', person.jti)
          .where('expires_at', '>', now)
          .where('started_at', '>', new Date(now.getTime() - OLDEST_SESSION_MS))
          .returning(['user_id', 'started_at'])
          .executeTakeFirst()
        if (!session) throw new Problem('unauthorized', 'the session has ended; log in again')
        const row = await tx.selectFrom('users').selectAll().where('id', '=', session.user_id).executeTakeFirstOrThrow()
        // Thrown, so that the session stays unchanged: its JWT is valid until it expires.
        if (row.auth_source === 'oidc' && now.getTime() - session.started_at.getTime() >= oldestOidc)
          throw new Problem('unauthorized', 'the session has ended; log in at the identity provider again')
        return row
      })
      return sign(user, jti, now)
    },

    async end(caller, origin) {
      const person = personOf(caller)
      const source = await change(deps, person.name, origin, async (tx, note) => {
        await tx.deleteFrom('sessions').where('jti', '=', person.jti).execute()
        await note('LOGOUT', 'logged out')
        return tx.selectFrom('users').select('auth_source').where('id', '=', person.id).executeTakeFirst()
      })
      const url = source?.auth_source === 'oidc' ? await deps.endSessionUrl() : null
      return { status: 'logged_out', ...(url === null ? {} : { end_session_url: url }) }
    },

    read: (text) => jwt.read('access', text),
  }
}
