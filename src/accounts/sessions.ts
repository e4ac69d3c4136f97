// Sessions: a JWT and the row that keeps it valid.
import { jwtVerify, SignJWT } from 'jose'
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import { change, type ChangeDeps } from './change.ts'
import { personOf, usernameKey, type UserRow } from './user.ts'

/** Time since the login after which a refresh is refused (docs/api-decisions.md, section 3). */
const OLDEST_SESSION_MS = 12 * 3_600_000
const ISSUER = 'gatehouse'
const ACCESS = 'access'
/** As `randomUUID` makes them. A text that no session can have never reaches the database, which rejects NUL. */
const JTI = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Expired rows removed with each login. */
const CLEANED_AT_ONCE = 100

export type JwtAlgorithm = 'HS256' | 'HS384' | 'HS512'

export interface LoginAnswer {
  access_token: string
  token_type: 'bearer'
  /** seconds */
  expires_in: number
  mfa_required: false
}

export interface Sessions {
  /** Opens a session in the transaction of the login; also removes some expired ones. */
  begin(user: UserRow, tx: Db): Promise<LoginAnswer>
  /**
   * Replaces the session by a new one that counts from the same login; the old JWT becomes invalid.
   * @throws Problem `unauthorized` 12 h after the login, `session_required`
   */
  refresh(caller: Caller): Promise<LoginAnswer>
  /** @throws Problem `session_required` */
  end(caller: Caller, origin: Origin): Promise<{ status: 'logged_out' }>
  /** The session that a JWT names; null unless it is an unaltered, unexpired access token. Does not read the row. */
  read(jwt: string): Promise<{ jti: string; subject: string } | null>
}

/**
 * @param secret signs the JWTs, as UTF-8 bytes
 * @param expireMinutes life of one JWT
 */
export function createSessions(
  deps: ChangeDeps & { clock: Clock; secret: string; algorithm: JwtAlgorithm; expireMinutes: number },
): Sessions {
  const { db, clock, secret, algorithm } = deps
  if (secret === '') throw new Error('the secret that signs sessions is empty')
  const lifeSeconds = Math.round(deps.expireMinutes * 60)
  // Imported once: verifying with raw bytes takes four times as long.
  const hash = `SHA-${algorithm.slice(2)}`
  const key = crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash }, false, [
    'sign',
    'verify',
  ])

  async function sign(user: UserRow, jti: string, now: Date): Promise<LoginAnswer> {
    const issued = Math.floor(now.getTime() / 1000)
    const token = await new SignJWT({ role: user.role, full_name: user.full_name, typ: ACCESS })
      .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
      .setSubject(user.username)
      .setIssuer(ISSUER)
      .setIssuedAt(issued)
      .setExpirationTime(issued + lifeSeconds)
      .setJti(jti)
      .sign(await key)
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

    async read(jwt) {
      try {
        const { payload } = await jwtVerify(jwt, await key, {
          algorithms: [algorithm],
          issuer: ISSUER,
          currentDate: clock.now(),
          requiredClaims: ['sub', 'exp', 'iat', 'jti'],
        })
        const { typ, jti, sub } = payload
        if (typ !== ACCESS || typeof jti !== 'string' || typeof sub !== 'string') return null
        return JTI.test(jti) && usernameKey(sub) !== '' ? { jti, subject: sub } : null
      } catch {
        // The reason is not reported: it would only help whoever forged the token.
        return null
      }
    },
  }
}
