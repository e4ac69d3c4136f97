// Programs that are signed in through a person's session, on a real database.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Caller } from '../domain/caller.ts'
import type { Database } from '../store/db.ts'
import { DEVICE_CODE_SECONDS, DEVICE_INTERVAL_SECONDS } from './device-sign-in.ts'
import { createAccounts, GOOD, ORIGIN, OTHER, outcome, ROOT, type Accounts } from './fixture.ts'
import { normalUserCode, randomUserCode } from './user-code.ts'

let database: Database
let at: Accounts
let ada: Caller
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.db.deleteFrom('device_sign_ins').execute()
  await database.db.deleteFrom('users').execute()
  at = await createAccounts(database.db)
  await at.users.create(ROOT, { username: 'ada', password: GOOD, role: 'maintainer' }, ORIGIN)
  ada = await at.signIn('ada')
  return () => at.close()
})

const bearer = (token: string) => at.authenticate(`Bearer ${token}`)
const begin = () => at.deviceSignIn.begin('gatehouse on build-7', { ip: '198.51.100.9', requestId: 'r-9' })
const redeem = (code: string) => at.deviceSignIn.redeem(code, ORIGIN)
const later = (seconds: number) => at.pass(seconds * 1000)

describe('a program', () => {
  test('gets the session of the person who approved it, once, and it is recorded', async () => {
    const codes = await begin()
    expect(codes).toMatchObject({
      verification_uri: 'http://localhost:3003/device',
      verification_uri_complete: `http://localhost:3003/device?code=${codes.user_code}`,
      ...{ expires_in: 600, interval: 5 },
    })
    expect(await outcome(redeem(codes.device_code))).toBe('authorization_pending')
    expect(await at.deviceSignIn.look(ada, codes.user_code)).toMatchObject({
      ...{ client: 'gatehouse on build-7', ip: '198.51.100.9' },
    })
    const typed = ` ${codes.user_code.toLowerCase().replace('-', ' ')}`
    expect(await at.deviceSignIn.answer(ada, typed, true, ORIGIN)).toEqual({ status: 'approved' })
    const session = await redeem(codes.device_code)
    expect(await bearer(session.access_token)).toMatchObject({ name: 'ada', kind: 'session', role: 'maintainer' })
    expect(await outcome(redeem(codes.device_code))).toBe('expired_token')
    expect((await at.audited()).map(({ action, user, detail }) => `${action} ${user}: ${detail}`)).toEqual(
      expect.arrayContaining([
        'DEVICE_SIGN_IN ada: approved gatehouse on build-7 at 198.51.100.9',
        'LOGIN ada: signed in gatehouse on build-7, which was approved in another session',
      ]),
    )
  })

  test('that the person refuses gets nothing', async () => {
    const codes = await begin()
    await at.deviceSignIn.answer(ada, codes.user_code, false, ORIGIN)
    expect(await outcome(redeem(codes.device_code))).toBe('access_denied')
    expect(await outcome(redeem(codes.device_code))).toBe('expired_token')
  })

  test('asks every five seconds, not more often', async () => {
    const { device_code: code } = await begin()
    expect(await outcome(redeem(code))).toBe('authorization_pending')
    later(DEVICE_INTERVAL_SECONDS - 1)
    expect(await outcome(redeem(code))).toBe('slow_down')
    later(DEVICE_INTERVAL_SECONDS)
    expect(await outcome(redeem(code))).toBe('authorization_pending')
  })

  test('has ten minutes', async () => {
    const codes = await begin()
    later(DEVICE_CODE_SECONDS + 1)
    ada = await at.signIn('ada')
    expect(await outcome(redeem(codes.device_code))).toBe('expired_token')
    expect(await outcome(at.deviceSignIn.look(ada, codes.user_code))).toBe('not_found')
    expect(await outcome(at.deviceSignIn.answer(ada, codes.user_code, true, ORIGIN))).toBe('not_found')
  })

  test('is one of at most a thousand that wait', async () => {
    const row = {
      ...{ client: 'x', ip: '', created_at: new Date(at.now()), expires_at: new Date(at.now() + 60_000) },
      ...{ polled_at: null, answer: null, user_id: null, session_started_at: null },
    }
    const rows = Array.from({ length: 1000 }, (_, i) => ({ ...row, device_hash: `d${i}`, user_hash: `u${i}` }))
    await database.db.insertInto('device_sign_ins').values(rows).execute()
    expect(await outcome(begin())).toBe('overloaded')
    later(61)
    await begin()
  })

  test.each([
    ['logged out', () => at.sessions.end(ada, ORIGIN)],
    ['is disabled', () => at.users.update(ROOT, 'ada', { active: false }, ORIGIN)],
    ['is deleted', () => at.users.remove(ROOT, 'ada', ORIGIN)],
    ['got a new password', () => at.users.resetPassword(ROOT, 'ada', OTHER, ORIGIN)],
  ])('gets no session when the person %s in between', async (_, happens) => {
    const codes = await begin()
    await at.deviceSignIn.answer(ada, codes.user_code, true, ORIGIN)
    await happens()
    expect(await outcome(redeem(codes.device_code))).toBe('expired_token')
  })

  test('does not outlive the login that it stands for', async () => {
    later(11 * 3600)
    // A session is refreshed until twelve hours after its login.
    const codes = await begin()
    await database.db
      .updateTable('sessions')
      .set({ expires_at: new Date(at.now() + 3_600_000) })
      .execute()
    await at.deviceSignIn.answer(ada, codes.user_code, true, ORIGIN)
    const caller = await bearer((await redeem(codes.device_code)).access_token)
    later(1800)
    await at.sessions.refresh(caller)
    const second = await begin()
    await at.deviceSignIn.answer(ada, second.user_code, true, ORIGIN)
    const next = await bearer((await redeem(second.device_code)).access_token)
    later(1801)
    expect(await outcome(at.sessions.refresh(next))).toBe('unauthorized')
  })
})

describe('the person', () => {
  test('answers once, and with a session', async () => {
    const codes = await begin()
    const robot: Caller = { ...ada, kind: 'token' }
    expect(await outcome(at.deviceSignIn.look(robot, codes.user_code))).toBe('session_required')
    expect(await outcome(at.deviceSignIn.answer(robot, codes.user_code, true, ORIGIN))).toBe('session_required')
    await at.deviceSignIn.answer(ada, codes.user_code, false, ORIGIN)
    expect(await outcome(at.deviceSignIn.answer(ada, codes.user_code, true, ORIGIN))).toBe('not_found')
    expect(await outcome(at.deviceSignIn.answer(ada, '', true, ORIGIN))).toBe('not_found')
  })

  test('whose session has ended approves nothing', async () => {
    const codes = await begin()
    await at.sessions.end(ada, ORIGIN)
    expect(await outcome(at.deviceSignIn.answer(ada, codes.user_code, true, ORIGIN))).toBe('unauthorized')
  })
})

test('codes are stored as digests only', async () => {
  const codes = await begin()
  const stored = JSON.stringify(await database.db.selectFrom('device_sign_ins').selectAll().execute())
  for (const code of [codes.device_code, codes.user_code, normalUserCode(codes.user_code)])
    expect(stored).not.toContain(code)
})

test('codes for people differ, and are read in any spelling', () => {
  const codes = new Set(Array.from({ length: 500 }, randomUserCode))
  expect(codes.size).toBe(500)
  for (const code of codes) expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  expect(normalUserCode(' wdjb mjht')).toBe(normalUserCode('WDJB-MJHT'))
})
