// Sign-in of a program through a person who is signed in elsewhere (RFC 8628): for people without a password here, and machines
// without a browser.
import { sql } from 'kysely'
import type { Origin } from '../domain/audit.ts'
import type { Caller } from '../domain/caller.ts'
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { randomToken, sha256Hex } from '../kernel/crypto.ts'
import { change, type ChangeDeps } from './change.ts'
import type { SessionAnswer, Sessions } from './sessions.ts'
import { personOf } from './user.ts'
import { normalUserCode, randomUserCode } from './user-code.ts'

/** RFC 8628, section 3.2, in seconds: how long the codes work, and how often a program may ask. */
export const DEVICE_CODE_SECONDS = 600
export const DEVICE_INTERVAL_SECONDS = 5
/** Programs that may wait at the same time: anybody can begin, and each costs a row. */
const MOST_WAITING = 1000
/** Expired rows removed with each beginning. */
const CLEANED_AT_ONCE = 100

export interface DeviceCodes {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  /** seconds */
  expires_in: number
  /** seconds */
  interval: number
}

export interface DeviceRequest {
  client: string
  ip: string
  created_at: string
  expires_at: string
}

export interface DeviceSignIn {
  /** @param client what the program says it is. @throws Problem `overloaded` */
  begin(client: string, origin: Origin): Promise<DeviceCodes>
  /**
   * The session, once: the request is gone after it.
   * @throws Problem `authorization_pending`, `slow_down`, `access_denied`, `expired_token`
   */
  redeem(deviceCode: string, origin: Origin): Promise<SessionAnswer>
  /** What a person is asked to approve. @throws Problem `not_found`, `session_required` */
  look(caller: Caller, userCode: string): Promise<DeviceRequest>
  /** @throws Problem `not_found` also for one that was answered, `session_required`, `unauthorized` when the session has ended */
  answer(caller: Caller, userCode: string, approve: boolean, origin: Origin): Promise<{ status: 'approved' | 'denied' }>
}

export function createDeviceSignIn(
  deps: ChangeDeps & { clock: Clock; sessions: Pick<Sessions, 'begin'>; settings: () => Pick<Settings, 'app_url'> },
): DeviceSignIn {
  const { db, clock, sessions } = deps
  const waiting = (userCode: string) =>
    db
      .selectFrom('device_sign_ins')
      .selectAll()
      .where('user_hash', '=', sha256Hex(normalUserCode(userCode)))
      .where('expires_at', '>', clock.now())
      .where('answer', 'is', null)
      .executeTakeFirst()

  return {
    async begin(client, origin) {
      const now = clock.now()
      await sql`delete from device_sign_ins where device_hash in (select device_hash from device_sign_ins
        where expires_at <= ${now} limit ${CLEANED_AT_ONCE} for update skip locked)`.execute(db)
      const { count } = await db
        .selectFrom('device_sign_ins')
        .select(sql<number>`count(*)::int`.as('count'))
        .executeTakeFirstOrThrow()
      if (count >= MOST_WAITING)
        throw new Problem('overloaded', 'too many programs wait to be signed in; try again later')
      const [deviceCode, userCode] = [randomToken(32), randomUserCode()]
      await db
        .insertInto('device_sign_ins')
        .values({
          ...{ device_hash: sha256Hex(deviceCode), user_hash: sha256Hex(normalUserCode(userCode)) },
          ...{ client, ip: origin.ip ?? '', created_at: now },
          expires_at: new Date(now.getTime() + DEVICE_CODE_SECONDS * 1000),
          ...{ polled_at: null, answer: null, user_id: null, session_started_at: null },
        })
        .execute()
      const page = `${deps.settings().app_url.replace(/\/+$/, '')}/device`
      return {
        ...{ device_code: deviceCode, user_code: userCode, verification_uri: page },
        verification_uri_complete: `${page}?code=${userCode}`,
        ...{ expires_in: DEVICE_CODE_SECONDS, interval: DEVICE_INTERVAL_SECONDS },
      }
    },

    async redeem(deviceCode, origin) {
      const hash = sha256Hex(deviceCode)
      const now = clock.now()
      const row = await db
        .selectFrom('device_sign_ins')
        .selectAll()
        .where('device_hash', '=', hash)
        .where('expires_at', '>', now)
        .executeTakeFirst()
      if (!row) throw refusal('expired_token', 'this request has expired, or was used; begin again')
      if (row.answer === 'denied') {
        await db.deleteFrom('device_sign_ins').where('device_hash', '=', hash).execute()
        throw refusal('access_denied', 'the person refused this request')
      }
      if (row.answer === null) {
        await db.updateTable('device_sign_ins').set({ polled_at: now }).where('device_hash', '=', hash).execute()
        const isEarly = row.polled_at && now.getTime() - row.polled_at.getTime() < DEVICE_INTERVAL_SECONDS * 1000
        throw isEarly
          ? refusal('slow_down', `ask every ${DEVICE_INTERVAL_SECONDS} seconds`)
          : refusal('authorization_pending', 'nobody has answered yet')
      }
      return open(hash, origin)
    },

    async look(caller, userCode) {
      personOf(caller)
      const row = await waiting(userCode)
      if (!row) throw unknown()
      return {
        ...{ client: row.client, ip: row.ip },
        ...{ created_at: isoTime(row.created_at), expires_at: isoTime(row.expires_at) },
      }
    },

    async answer(caller, userCode, approve, origin) {
      const person = personOf(caller)
      const answer = approve ? 'approved' : 'denied'
      await change(deps, person.name, origin, async (tx, note) => {
        // The person is not deleted meanwhile.
        const session = await tx
          .selectFrom('sessions')
          .innerJoin('users', 'users.id', 'sessions.user_id')
          .select('started_at')
          .where('jti', '=', person.jti)
          .forKeyShare('users')
          .executeTakeFirst()
        if (!session) throw new Problem('unauthorized', 'the session has ended; log in again')
        const row = await tx
          .updateTable('device_sign_ins')
          .set({ answer, user_id: person.id, session_started_at: session.started_at })
          .where('user_hash', '=', sha256Hex(normalUserCode(userCode)))
          .where('expires_at', '>', clock.now())
          .where('answer', 'is', null)
          .returning(['client', 'ip'])
          .executeTakeFirst()
        if (!row) throw unknown()
        await note('DEVICE_SIGN_IN', `${answer} ${row.client} at ${row.ip}`, { client: row.client, device_ip: row.ip })
      })
      return { status: answer }
    },
  }

  /** Takes the approved request away and opens the session, in one transaction. */
  async function open(hash: string, origin: Origin): Promise<SessionAnswer> {
    const approver = await db
      .selectFrom('device_sign_ins')
      .innerJoin('users', 'users.id', 'device_sign_ins.user_id')
      .select('users.username')
      .where('device_hash', '=', hash)
      .executeTakeFirst()
    const gone = () => refusal('expired_token', 'the session that approved this request has ended; begin again')
    if (!approver) throw gone()
    return change(deps, approver.username, origin, async (tx, note) => {
      const row = await tx
        .deleteFrom('device_sign_ins')
        .where('device_hash', '=', hash)
        .where('answer', '=', 'approved')
        .returning(['client', 'user_id', 'session_started_at'])
        .executeTakeFirst()
      // The session that approved it must still be there: a changed password, a logout and a disabled account end it.
      const user = await tx
        .selectFrom('users')
        .selectAll('users')
        .innerJoin('sessions', 'sessions.user_id', 'users.id')
        .where('users.id', '=', row?.user_id ?? 0)
        .where('users.active', '=', true)
        .where('sessions.started_at', '=', row?.session_started_at ?? clock.now())
        .where('sessions.expires_at', '>', clock.now())
        .executeTakeFirst()
      if (!row?.session_started_at || !user) throw gone()
      await note('LOGIN', `signed in ${row.client}, which was approved in another session`)
      return sessions.begin(user, tx, row.session_started_at)
    })
  }
}

/** With the key that RFC 8628, section 3.5, and RFC 6749, section 5.2, give to it. */
const refusal = (code: 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token', detail: string) =>
  new Problem(code, detail, { error: code })

const unknown = () => new Problem('not_found', 'no program waits for this code; it may have expired, or was answered')
