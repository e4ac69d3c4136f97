// What follows a correct password: a session, or the request for a code if the account has a second factor.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Origin } from '../domain/audit.ts'
import { isProblem, Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import { change, type ChangeDeps, type Note } from './change.ts'
import type { Codes } from './codes.ts'
import { guessKey } from './guess-key.ts'
import type { Jwt } from './jwt.ts'
import type { SessionAnswer, Sessions } from './sessions.ts'
import type { Slowing } from './slowing.ts'
import type { UserRow } from './user.ts'

/** How long a login waits for its code, and how many it may try (docs/api-decisions.md, section 3). */
const CHALLENGE_SECONDS = 300
const MOST_TRIES = 5
/** Expired rows removed with each challenge. */
const CLEANED_AT_ONCE = 100

/** The answer to a correct password when a code is needed too. */
export interface MfaAnswer {
  access_token: ''
  token_type: 'bearer'
  mfa_required: true
  mfa_token: string
}

export type LoginAnswer = SessionAnswer | MfaAnswer

export interface SecondStep {
  /** Ends the first step in its transaction: opens and records a session, or asks for a code. */
  admit(user: UserRow, tx: Db, note: Note, login?: { action: string; detail: string }): Promise<LoginAnswer>
  /**
   * Opens the session of a login that waited for its code.
   * @throws Problem `unauthorized` with the same sentence for every reason; `rate_limited` after 20 wrong codes in an hour
   */
  complete(
    given: { mfa_token: string; totp_code: string },
    origin: Origin,
    signal?: AbortSignal,
  ): Promise<SessionAnswer>
}

export function createSecondStep(
  deps: ChangeDeps & { clock: Clock; jwt: Jwt; sessions: Sessions; codes: Codes; slowing: Slowing },
): SecondStep {
  const { db, audit, clock, jwt, sessions, codes, slowing } = deps

  async function ask(user: UserRow, tx: Db): Promise<MfaAnswer> {
    const now = clock.now()
    const jti = randomUUID()
    await tx
      .insertInto('mfa_challenges')
      .values({ id: jti, user_id: user.id, expires_at: new Date(now.getTime() + CHALLENGE_SECONDS * 1000) })
      .execute()
    await sql`delete from mfa_challenges where id in (select id from mfa_challenges where expires_at <= ${now}
      limit ${CLEANED_AT_ONCE} for update skip locked)`.execute(tx)
    const mfa_token = await jwt.sign('mfa', { jti, subject: user.username, now, lifeSeconds: CHALLENGE_SECONDS })
    return { access_token: '', token_type: 'bearer', mfa_required: true, mfa_token }
  }

  /** The account of a challenge that has tries left. Counts the try before the code is checked. */
  async function take(id: string): Promise<UserRow | null> {
    const challenge = await db
      .updateTable('mfa_challenges')
      .set({ tries: sql<number>`tries + 1` })
      .where('id', '=', id)
      .where('tries', '<', MOST_TRIES)
      .where('expires_at', '>', clock.now())
      .returning('user_id')
      .executeTakeFirst()
    if (!challenge) return null
    const user = await db.selectFrom('users').selectAll().where('id', '=', challenge.user_id).executeTakeFirst()
    return user?.active && user.mfa_enabled ? user : null
  }

  /** @returns null when the code is wrong or the challenge was used in the meantime */
  async function open(id: string, user: UserRow, code: string, origin: Origin): Promise<SessionAnswer | null> {
    return change(deps, user.username, origin, async (tx, note) => {
      const kind = await codes.use(tx, user, code)
      if (!kind) return null
      const challenge = await tx.deleteFrom('mfa_challenges').where('id', '=', id).returning('id').executeTakeFirst()
      const active = await tx
        .updateTable('users')
        .set({ last_login: clock.now() })
        .where('id', '=', user.id)
        .where('active', '=', true)
        .where('mfa_enabled', '=', true)
        .returningAll()
        .executeTakeFirst()
      // Thrown, so that the code is not used up.
      if (!challenge || !active) throw refused()
      const answer = await sessions.begin(active, tx)
      await note('LOGIN', kind === 'app' ? 'logged in with a code' : 'logged in with a recovery code')
      return answer
    })
  }

  return {
    async admit(user, tx, note, login = { action: 'LOGIN', detail: 'logged in' }) {
      if (user.mfa_enabled) return ask(user, tx)
      const answer = await sessions.begin(user, tx)
      await note(login.action, login.detail)
      return answer
    },

    async complete({ mfa_token, totp_code }, origin, signal) {
      const token = await jwt.read('mfa', mfa_token)
      if (!token) throw refused()
      const key = `mfa ${guessKey(token.subject, origin)}`
      await slowing.attempt(key, signal)
      const record = async (outcome: string, detail: string) => {
        const event = { action: 'LOGIN', result: 'FAILURE', user: token.subject, detail, outcome } as const
        await audit.record({ ...event, ip: origin.ip, requestId: origin.requestId })
      }
      const code = totp_code.trim()
      const user = await take(token.jti)
      if (user) {
        try {
          await codes.countGuess(user, code)
          const answer = await open(token.jti, user, code, origin)
          if (answer) {
            slowing.succeeded(key)
            return answer
          }
        } catch (error) {
          if (isProblem(error)) await record(error.code, 'the second step was refused')
          throw error
        }
      }
      await record('unauthorized', user ? 'wrong code' : 'no login waits for this code')
      throw refused()
    },
  }
}

const refused = () => new Problem('unauthorized', 'the code is wrong, or this login has expired; log in again')
