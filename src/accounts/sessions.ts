// Sessions: a JWT and the row that keeps it valid.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import { change, type ChangeDeps } from './change.ts'
import type { Jwt } from './jwt.ts'
import { personOf, type UserRow } from './user.ts'

/** Time since the login after which a refresh is refused (docs/api-decisions.md, section 3). */
const OLDEST_SESSION_MS = 12 * 3_600_000
/** Expired rows removed with each login. */
const CLEANED_AT_ONCE = 100

/** A session. */
export interface SessionAnswer {
  access_token: string
  token_type: 'bearer'
  /** seconds */
  expires_in: number
  mfa_required: false
}

export interface Sessions {
  /** Opens a session in the transaction of the login; also removes some expired ones. */
  begin(user: UserRow, tx: Db): Promise<SessionAnswer>
  /**
   * Replaces the session by a new one that counts from the same login; the old JWT becomes invalid.
   * @throws Problem `unauthorized` 12 h after the login, `session_required`
   */
  refresh(caller: Caller): Promise<SessionAnswer>
  /** @throws Problem `session_required` */
  end(caller: Caller, origin: Origin): Promise<{ status: 'logged_out' }>
  /** The session that a JWT names; null unless it is an unaltered, unexpired access token. Does not read the row. */
  read(text: string): Promise<{ jti: string; subject: string } | null>
}

/** @param deps.expireMinutes life of one JWT */
export function createSessions(deps: ChangeDeps & { clock: Clock; jwt: Jwt; expireMinutes: number }): Sessions {
  const { db, clock, jwt } = deps
  const lifeSeconds = Math.round(deps.expireMinutes * 60)

  async function sign(user: UserRow, jti: string, now: Date): Promise<SessionAnswer> {
    const claims = { role: user.role, full_name: user.full_name }
    const token = await jwt.sign('access', { jti, subject: user.username, now, lifeSeconds, claims })
    return { access_token: token, token_type: 'bearer', expires_in: lifeSeconds, mfa_required: false }
  }

  const expiryFrom = (now: Date) => new Date(now.getTime() + lifeSeconds * 1000)

  return {
    async begin(user, tx) {
      const now = clock.now()
      const jti = randomUUID()
      await tx
        .insertInto('sessions')
        .values({ jti, user_id: user.id, started_at: now, expires_at: expiryFrom(now) })
        .execute()
      // Skips rows that another login is removing, so that two logins never wait for each other.
      await sql`delete from sessions where jti in (select jti from sessions where expires_at <= ${now}
        limit ${CLEANED_AT_ONCE} for update skip locked)`.execute(tx)
      return sign(user, jti, now)
    },

    async refresh(caller) {
      const person = personOf(caller)
      const now = clock.now()
      const jti = randomUUID()
      const user = await db.transaction().execute(async (tx) => {
        const session = await tx
          .updateTable('sessions')
          .set({ jti, expires_at: expiryFrom(now) })
          .where('jti', '=', person.jti)
          .where('expires_at', '>', now)
          .where('started_at', '>', new Date(now.getTime() - OLDEST_SESSION_MS))
          .returning('user_id')
          .executeTakeFirst()
        if (!session) throw new Problem('unauthorized', 'the session has ended; log in again')
        return tx.selectFrom('users').selectAll().where('id', '=', session.user_id).executeTakeFirstOrThrow()
      })
      return sign(user, jti, now)
    },

    async end(caller, origin) {
      const person = personOf(caller)
      await change(deps, person.name, origin, async (tx, note) => {
        await tx.deleteFrom('sessions').where('jti', '=', person.jti).execute()
        await note('LOGOUT', 'logged out')
      })
      return { status: 'logged_out' }
    },

    read: (text) => jwt.read('access', text),
  }
}
