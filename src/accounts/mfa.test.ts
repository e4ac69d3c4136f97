// The second step of a login: codes of an app, recovery codes, and the limits of guessing.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Secret, TOTP } from 'otpauth'
import { createTestDatabase } from '../../test/database.ts'
import type { Caller } from '../domain/caller.ts'
import { createSecretBox } from '../kernel/crypto.ts'
import type { Database } from '../store/db.ts'
import { createAccounts, GOOD, ORIGIN, otherProcess, OTHER, outcome, outcomes, ROOT, type Accounts } from './fixture.ts'

let database: Database & { url: string }
let at: Accounts
let ada: Caller
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => database.close())
beforeEach(async () => {
  at = await createAccounts(database.db)
  await database.db.deleteFrom('users').execute()
  await at.users.create(ROOT, { username: 'Ada', password: GOOD, role: 'admin', email: 'ada@example.org' }, ORIGIN)
  ada = await at.signIn('ada')
  await at.audited()
  return () => at.close()
})

const STEP = 30_000
const codeOf = (secret: string, stepsAway = 0) =>
  TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: at.now() + stepsAway * STEP })
const wrongCode = (secret: string) => {
  const right = [-1, 0, 1].map((away) => codeOf(secret, away))
  return ['000000', '111111', '222222', '333333'].find((code) => !right.includes(code)) ?? ''
}

/** Puts a factor in force for Ada, then moves on so that the next code is unused. */
async function enrolled() {
  const { secret } = await at.mfa.setup(ada)
  const { recovery_codes } = await at.mfa.confirm(ada, codeOf(secret), ORIGIN)
  at.pass(STEP)
  await at.audited()
  return { secret, recovery_codes }
}

async function firstStep(password = GOOD) {
  const answer = await at.login({ username: 'ada', password }, ORIGIN)
  if (!answer.mfa_required) throw new Error('no code was asked for')
  return answer
}
const second = (mfa_token: string, totp_code: string, ip = ORIGIN.ip) =>
  at.secondStep.complete({ mfa_token, totp_code }, { ip, requestId: null })
const lastLogin = async () => (await at.users.list()).users[0]?.last_login

describe('setting up', () => {
  test('changes nothing about logins until a code confirms it', async () => {
    const first = await at.mfa.setup(ada)
    expect(first).toMatchObject({ issuer: 'Gatehouse', username: 'Ada', uri: expect.stringContaining(first.secret) })
    expect(first.qr_code).toBe(`data:image/png;base64,${first.qr_code_base64}`)
    expect(await at.signIn('ada')).toMatchObject({ name: 'Ada' })

    // The second set-up replaces the first.
    const { secret } = await at.mfa.setup(ada)
    expect(await outcome(at.mfa.confirm(ada, codeOf(first.secret), ORIGIN))).toBe('wrong_code')
    const confirmed = await at.mfa.confirm(ada, ` ${codeOf(secret)} `, ORIGIN)
    expect(confirmed.recovery_codes).toHaveLength(10)
    expect(await at.ownAccount.me(ada)).toMatchObject({ mfa_enabled: true })
    expect((await at.audited()).filter(({ action }) => action === 'MFA_ENABLE')).toMatchObject([
      { result: 'FAILURE', user: 'Ada' },
      { result: 'SUCCESS', user: 'Ada' },
    ])
    expect(await outcomes([at.mfa.setup(ada), at.mfa.confirm(ada, codeOf(secret, 1), ORIGIN)])).toEqual([
      'already_exists',
      'not_found',
    ])
  })

  test('stores neither the secret nor the recovery codes in the clear', async () => {
    const { secret, recovery_codes } = await enrolled()
    const rows = JSON.stringify([
      await database.db.selectFrom('users').selectAll().execute(),
      await database.db.selectFrom('recovery_codes').selectAll().execute(),
      await at.audited(),
    ])
    expect(rows).toContain('sealed:v1:')
    for (const text of [secret, ...recovery_codes, ...recovery_codes.map((code) => code.replaceAll('-', ''))])
      expect(rows).not.toContain(text)
  })

  test('is for people only', async () => {
    const { token } = await at.tokens.create(ada, { name: 'robot', role: 'admin' }, ORIGIN)
    const robot = await at.authenticate(`Bearer ${token}`)
    expect(await outcome(at.mfa.setup(robot))).toBe('session_required')
  })
})

describe('a login with a second factor', () => {
  test('needs password and code, and counts as a login only then', async () => {
    const { secret } = await enrolled()
    const before = await lastLogin()
    const answer = await firstStep()
    expect(answer).toMatchObject({ access_token: '', token_type: 'bearer', mfa_required: true })
    expect(await outcome(at.authenticate(`Bearer ${answer.mfa_token}`))).toBe('unauthorized')
    expect([await lastLogin(), await at.audited()]).toEqual([before, []])

    const session = await second(answer.mfa_token, codeOf(secret))
    expect(session).toMatchObject({ mfa_required: false, expires_in: 3600 })
    expect(await at.authenticate(`Bearer ${session.access_token}`)).toMatchObject({ name: 'Ada', role: 'admin' })
    expect(await lastLogin()).not.toBe(before)
    expect(await at.audited()).toMatchObject([{ action: 'LOGIN', result: 'SUCCESS', user: 'Ada' }])
  })

  test('accepts the code of one step before and one after, and no code or older one twice', async () => {
    const { secret } = await enrolled()
    const late = codeOf(secret, -1)
    const now = codeOf(secret)
    const early = codeOf(secret, 1)
    // The code of the step before was used to confirm.
    expect(await outcome(second((await firstStep()).mfa_token, late))).toBe('unauthorized')
    expect(await outcome(second((await firstStep()).mfa_token, early))).toBe('ok')
    expect(await outcome(second((await firstStep()).mfa_token, early))).toBe('unauthorized')
    expect(await outcome(second((await firstStep()).mfa_token, now))).toBe('unauthorized')
    at.pass(2 * STEP)
    expect(await outcome(second((await firstStep()).mfa_token, codeOf(secret)))).toBe('ok')
  })

  test('accepts one of two parallel uses of a code, and one of two uses of a challenge', async () => {
    const { secret, recovery_codes } = await enrolled()
    const elsewhere = await otherProcess(database)
    const other = await createAccounts(elsewhere.db)
    other.pass(at.now() - other.now())
    const [one, two] = [await firstStep(), await firstStep()]
    const code = codeOf(secret)
    const there = (mfa_token: string, totp_code: string) => other.secondStep.complete({ mfa_token, totp_code }, ORIGIN)
    expect((await outcomes([second(one.mfa_token, code), there(two.mfa_token, code)])).sort()).toEqual([
      'ok',
      'unauthorized',
    ])
    const third = await firstStep()
    const [first = '', next = ''] = recovery_codes
    expect((await outcomes([second(third.mfa_token, first), there(third.mfa_token, next)])).sort()).toEqual([
      'ok',
      'unauthorized',
    ])
    // The code of the refused use still works.
    expect(await database.db.selectFrom('recovery_codes').selectAll().execute()).toHaveLength(9)
    await other.close()
    await elsewhere.close()
  })

  test('accepts each recovery code once', async () => {
    const { recovery_codes } = await enrolled()
    const [code = ''] = recovery_codes
    expect(await outcome(second((await firstStep()).mfa_token, code.toLowerCase()))).toBe('ok')
    expect(await outcome(second((await firstStep()).mfa_token, code))).toBe('unauthorized')
    expect(await at.audited()).toMatchObject([
      { action: 'LOGIN', result: 'SUCCESS', detail: 'logged in with a recovery code' },
      { action: 'LOGIN', result: 'FAILURE', detail: 'wrong code' },
    ])
  })

  test('allows five tries within five minutes for one password check', async () => {
    const { secret } = await enrolled()
    const tried = await firstStep()
    for (let i = 0; i < 5; i++) expect(await outcome(second(tried.mfa_token, wrongCode(secret)))).toBe('unauthorized')
    expect(await outcome(second(tried.mfa_token, codeOf(secret)))).toBe('unauthorized')
    const waited = await firstStep()
    at.pass(300_000)
    expect(await outcome(second(waited.mfa_token, codeOf(secret)))).toBe('unauthorized')
    expect(await outcome(second((await firstStep()).mfa_token, codeOf(secret)))).toBe('ok')
  })

  test('delays guesses like those of passwords', async () => {
    const { secret } = await enrolled()
    const tokens = [await firstStep(), await firstStep()]
    for (let i = 0; i < 7; i++) await outcome(second(tokens[i < 5 ? 0 : 1]?.mfa_token ?? '', wrongCode(secret)))
    expect(at.waits).toEqual([500, 1000])
  })

  test('refuses further codes for an hour after twenty wrong ones from anywhere, but no recovery code', async () => {
    const { secret, recovery_codes } = await enrolled()
    let mfa_token = ''
    for (let i = 0; i < 20; i++) {
      if (i % 5 === 0) mfa_token = (await firstStep()).mfa_token
      expect(await outcome(second(mfa_token, wrongCode(secret), `198.51.100.${i}`))).toBe('unauthorized')
    }
    const locked = await firstStep()
    await expect(second(locked.mfa_token, codeOf(secret), '198.51.100.99')).rejects.toMatchObject({
      code: 'rate_limited',
      extra: { limit: 20, retry_after: 3600 },
    })
    expect(await outcome(at.mfa.disable(ada, { totp_code: codeOf(secret) }, ORIGIN))).toBe('rate_limited')
    expect(await outcome(second(locked.mfa_token, recovery_codes[0] ?? ''))).toBe('ok')
    at.pass(3_600_000)
    expect(await outcome(second((await firstStep()).mfa_token, codeOf(secret)))).toBe('ok')
  })

  test.each<[string, (secret: string) => Promise<unknown>]>([
    ['the account was disabled', () => database.db.updateTable('users').set({ active: false }).execute()],
    ['the password was replaced', () => at.users.resetPassword(ROOT, 'ada', OTHER, ORIGIN)],
    ['an admin removed the factor', () => at.mfa.reset(ROOT, 'ada', ORIGIN)],
    ['the account was deleted', () => database.db.deleteFrom('users').execute()],
  ])('ends when %s after the first step', async (_what, happens) => {
    const { secret } = await enrolled()
    const { mfa_token } = await firstStep()
    await happens(secret)
    expect(await outcome(second(mfa_token, codeOf(secret)))).toBe('unauthorized')
  })

  test('refuses what is no token of a first step', async () => {
    const { secret } = await enrolled()
    const session = await second((await firstStep()).mfa_token, codeOf(secret))
    at.pass(STEP)
    for (const token of [session.access_token, '', 'x', 'a.b.c'])
      expect(await outcome(second(token, codeOf(secret)))).toBe('unauthorized')
  })

  test('works with recovery codes and the reset when the settings key was replaced', async () => {
    const { secret, recovery_codes } = await enrolled()
    const changed = await createAccounts(database.db, { secretBox: createSecretBox('another settings key') })
    changed.pass(at.now() - changed.now())
    const complete = async (totp_code: string) => {
      const answer = await changed.login({ username: 'ada', password: GOOD }, ORIGIN)
      return outcome(
        changed.secondStep.complete({ mfa_token: 'mfa_token' in answer ? answer.mfa_token : '', totp_code }, ORIGIN),
      )
    }
    expect([await complete(codeOf(secret)), await complete(recovery_codes[0] ?? '')]).toEqual(['unauthorized', 'ok'])
    expect(changed.errors).toHaveLength(1)
    await changed.close()
  })
})

describe('disabling and new recovery codes', () => {
  test.each<[string, (given: { secret: string; recovery: string }) => object, string]>([
    ['a code', ({ secret }) => ({ totp_code: codeOf(secret) }), 'ok'],
    ['a recovery code', ({ recovery }) => ({ totp_code: recovery }), 'ok'],
    ['the password', () => ({ password: GOOD }), 'ok'],
    ['a wrong code', ({ secret }) => ({ totp_code: wrongCode(secret) }), 'wrong_code'],
    [
      'a wrong code beside the password',
      ({ secret }) => ({ totp_code: wrongCode(secret), password: GOOD }),
      'wrong_code',
    ],
    ['a wrong password', () => ({ password: OTHER }), 'wrong_password'],
    ['nothing', () => ({}), 'validation_error'],
  ])('with %s', async (_what, proof, expected) => {
    const { secret, recovery_codes } = await enrolled()
    const given = { secret, recovery: recovery_codes[0] ?? '' }
    expect(await outcome(at.mfa.disable(ada, proof(given), ORIGIN))).toBe(expected)
    const isOff = expected === 'ok'
    expect(await at.ownAccount.me(ada)).toMatchObject({ mfa_enabled: !isOff })
    expect(await database.db.selectFrom('recovery_codes').selectAll().execute()).toHaveLength(isOff ? 0 : 10)
    const audited = (await at.audited()).filter(({ action }) => action === 'MFA_DISABLE')
    expect(audited.map(({ result }) => result)).toEqual(
      expected === 'validation_error' ? [] : [isOff ? 'SUCCESS' : 'FAILURE'],
    )
  })

  test('replaces the recovery codes', async () => {
    const { secret, recovery_codes } = await enrolled()
    const { recovery_codes: fresh } = await at.mfa.replaceRecoveryCodes(ada, { totp_code: codeOf(secret) }, ORIGIN)
    const { mfa_token } = await firstStep()
    expect(await outcome(second(mfa_token, recovery_codes[0] ?? ''))).toBe('unauthorized')
    expect(await outcome(second(mfa_token, fresh[0] ?? ''))).toBe('ok')
  })

  test('is refused for an account without a factor, and for a password that is kept elsewhere', async () => {
    expect(await outcome(at.mfa.disable(ada, { password: GOOD }, ORIGIN))).toBe('not_found')
    await enrolled()
    await database.db.updateTable('users').set({ auth_source: 'ldap', password_hash: null }).execute()
    expect(await outcome(at.mfa.disable(ada, { password: GOOD }, ORIGIN))).toBe('external_account')
  })
})

test('an admin removes the factor of others, who then log in without a code; not their own', async () => {
  await enrolled()
  expect(await outcome(at.mfa.reset(ada, 'ADA', ORIGIN))).toBe('forbidden')
  expect(await outcome(at.mfa.reset(ROOT, 'nobody', ORIGIN))).toBe('not_found')
  await at.mfa.reset(ROOT, 'ADA', ORIGIN)
  expect(await at.signIn('ada')).toMatchObject({ name: 'Ada' })
  expect((await at.audited()).filter(({ action }) => action === 'MFA_DISABLE')).toMatchObject([
    { user: 'token:root', detail: 'second factor of Ada removed by token:root' },
  ])
})
