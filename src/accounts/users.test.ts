// User management, the own account, and forgotten passwords.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Caller } from '../domain/caller.ts'
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
  await database.db.deleteFrom('api_tokens').execute()
  await at.users.create(ROOT, { username: 'Ada', password: GOOD, role: 'admin', email: 'ada@example.org' }, ORIGIN)
  await at.users.create(ROOT, { username: 'ben', password: GOOD, role: 'reader', email: 'Ben@Example.org' }, ORIGIN)
  ada = await at.signIn('ada')
  await at.audited()
  return () => at.close()
})

const row = (username: string) =>
  database.db.selectFrom('users').selectAll().where('username', '=', username).executeTakeFirstOrThrow()
const external = (username: string) =>
  database.db
    .updateTable('users')
    .set({ auth_source: 'ldap', password_hash: null })
    .where('username', '=', username)
    .execute()
const canLogIn = async (username: string, password: string) =>
  (await outcome(at.login({ username, password }, ORIGIN))) === 'ok'

describe('creating', () => {
  test('returns the account without its password, and is audited', async () => {
    const user = await at.users.create(
      ada,
      { username: 'Cy.D@x', password: GOOD, role: 'auditor', full_name: 'Cý', email: 'cy@example.org' },
      ORIGIN,
    )
    expect(user).toEqual({
      id: expect.any(Number),
      username: 'Cy.D@x',
      role: 'auditor',
      full_name: 'Cý',
      email: 'cy@example.org',
      active: true,
      auth_source: 'local',
      mfa_enabled: false,
      suspended_at: null,
      created_at: '2026-03-01T12:00:00.000+00:00',
      last_login: null,
    })
    const list = await at.users.list()
    expect([list.total, list.users.map((u) => u.username)]).toEqual([3, ['Ada', 'ben', 'Cy.D@x']])
    expect(JSON.stringify(list)).not.toContain('argon2')
    const [entry] = await at.audited()
    expect(entry).toMatchObject({
      action: 'USER_CREATE',
      result: 'SUCCESS',
      user: 'Ada',
      ip: ORIGIN.ip,
      extra: { username: 'Cy.D@x', role: 'auditor' },
    })
    expect(JSON.stringify(entry)).not.toContain(GOOD)
  })

  const base = { username: 'cyd', password: GOOD, role: 'reader' }
  test.each([
    [{ ...base, username: 'BEN' }, 'already_exists'],
    [{ ...base, username: 'ab' }, 'validation_error'],
    [{ ...base, username: 'a b' }, 'validation_error'],
    [{ ...base, username: 'cyd\n' }, 'validation_error'],
    [{ ...base, username: 'token:ci' }, 'validation_error'],
    [{ ...base, username: 'x'.repeat(65) }, 'validation_error'],
    [{ ...base, role: 'root' }, 'invalid_role'],
    [{ ...base, role: 'constructor' }, 'invalid_role'],
    [{ ...base, password: 'short-A' }, 'weak_password'],
    [{ ...base, email: 'a@b\r\nBcc: c@d' }, 'validation_error'],
    [{ ...base, email: 'no address' }, 'validation_error'],
    [{ ...base, full_name: 'two\nlines' }, 'validation_error'],
    [{ ...base, full_name: 'a\0b' }, 'validation_error'],
  ])('%j is refused: %s', async (wanted, code) => {
    expect(await outcome(at.users.create(ada, wanted, ORIGIN))).toBe(code)
    expect(await at.audited()).toEqual([])
  })

  test('the same name in parallel, in any case, creates one account', async () => {
    const names = ['cyd', 'Cyd', 'CYD', 'cyd']
    const results = await outcomes(names.map((username) => at.users.create(ada, { ...base, username }, ORIGIN)))
    expect(results.sort()).toEqual(['already_exists', 'already_exists', 'already_exists', 'ok'])
    expect(await at.audited()).toHaveLength(1)
  })
})

describe('changing', () => {
  test('changes the named fields, and audits each kind with its own action', async () => {
    expect(
      await at.users.update(ada, 'BEN', { role: 'auditor', full_name: 'Ben', active: false }, ORIGIN),
    ).toMatchObject({
      username: 'ben',
      role: 'auditor',
      full_name: 'Ben',
      active: false,
      email: 'Ben@Example.org',
    })
    expect((await at.audited()).map((e) => [e.action, e.user, e.detail, e.extra])).toEqual([
      [
        'USER_ROLE_CHANGE',
        'Ada',
        'role of ben changed from reader to auditor',
        { username: 'ben', from: 'reader', to: 'auditor' },
      ],
      ['USER_UPDATE', 'Ada', 'full_name, active of ben changed', { username: 'ben', full_name: 'Ben', active: false }],
    ])
    expect(await row('ben')).toMatchObject({ role: 'auditor', full_name: 'Ben', active: false })
  })

  test('without a difference writes no audit entry, also for the own role', async () => {
    expect(
      await at.users.update(ada, 'Ada', { role: 'admin', active: true, email: 'ada@example.org' }, ORIGIN),
    ).toMatchObject({ role: 'admin' })
    expect(await at.users.update(ada, 'ben', {}, ORIGIN)).toMatchObject({ username: 'ben' })
    expect(await at.audited()).toEqual([])
  })

  test.each([
    ['Ada', { role: 'reader' }, 'self_role_change'],
    ['ADA', { active: false }, 'self_deactivate'],
    ['ben', { role: 'root' }, 'invalid_role'],
    ['ben', { email: 'x' }, 'validation_error'],
    ['be', { active: false }, 'not_found'],
    ['ben%', { active: false }, 'not_found'],
    ['b\0n', { active: false }, 'not_found'],
  ])('of %s to %j is refused: %s', async (username, patch, code) => {
    await at.users.update(ROOT, 'ben', { role: 'admin' }, ORIGIN)
    await at.audited()
    expect(await outcome(at.users.update(ada, username, patch, ORIGIN))).toBe(code)
    expect(await at.audited()).toEqual([])
  })
})

describe('the last active admin', () => {
  test.each([
    ['demoted', () => at.users.update(ROOT, 'Ada', { role: 'maintainer' }, ORIGIN)],
    ['deactivated', () => at.users.update(ROOT, 'Ada', { active: false }, ORIGIN)],
    ['removed', () => at.users.remove(ROOT, 'Ada', ORIGIN)],
  ])('is not %s, until there is another', async (_what, act) => {
    await at.users.create(ROOT, { username: 'eve', password: GOOD, role: 'admin' }, ORIGIN)
    await at.users.update(ROOT, 'eve', { active: false }, ORIGIN)
    expect(await outcome(act())).toBe('last_admin')
    await at.users.update(ROOT, 'eve', { active: true }, ORIGIN)
    expect(await outcome(act())).toBe('ok')
  })

  test('may be changed in every other way', async () => {
    expect(await outcome(at.users.update(ROOT, 'Ada', { full_name: 'A', role: 'admin' }, ORIGIN))).toBe('ok')
  })

  test('remains when admins demote each other in parallel', async () => {
    const other = await otherProcess(database)
    const second = await createAccounts(other.db)
    const eve = await at.users.create(ROOT, { username: 'eve', password: GOOD, role: 'admin' }, ORIGIN)
    const eveCalls: Caller = {
      kind: 'session',
      name: 'eve',
      role: 'admin',
      ownerId: eve.id,
      credentialId: '-',
      principal: '-',
    }
    for (let round = 0; round < 10; round++) {
      const results = await outcomes([
        at.users.update(ada, 'eve', { role: 'reader' }, ORIGIN),
        second.users.update(eveCalls, 'Ada', { role: 'reader' }, ORIGIN),
      ])
      expect(results.sort()).toEqual(['last_admin', 'ok'])
      await database.db
        .updateTable('users')
        .set({ role: 'admin' })
        .where('username_key', 'in', ['ada', 'eve'])
        .execute()
    }
    await at.users.create(ROOT, { username: 'fay', password: GOOD, role: 'admin' }, ORIGIN)
    const results = await outcomes([
      at.users.update(ROOT, 'Ada', { active: false }, ORIGIN),
      second.users.remove(ROOT, 'eve', ORIGIN),
      at.users.update(ROOT, 'fay', { role: 'reader' }, ORIGIN),
      second.users.update(ROOT, 'ben', { full_name: 'B' }, ORIGIN),
    ])
    expect(results.sort()).toEqual(['last_admin', 'ok', 'ok', 'ok'])
    const left = (await at.users.list()).users.filter((user) => user.role === 'admin' && user.active)
    expect(left).toHaveLength(1)
    await second.close()
    await other.close()
  })
})

describe('removing', () => {
  test('deletes the account and its sessions, and is audited', async () => {
    await at.signIn('ben')
    expect(await at.users.remove(ada, 'BEN', ORIGIN)).toEqual({ status: 'deleted', username: 'ben' })
    expect((await at.audited()).at(-1)).toMatchObject({
      action: 'USER_DELETE',
      user: 'Ada',
      extra: { username: 'ben', role: 'reader' },
    })
    expect(await canLogIn('ben', GOOD)).toBe(false)
    expect(await outcome(at.users.remove(ada, 'ben', ORIGIN))).toBe('not_found')
  })

  test('is refused for oneself, with or without other admins', async () => {
    expect(await outcome(at.users.remove(ada, 'ada', ORIGIN))).toBe('self_delete')
    await at.users.create(ROOT, { username: 'eve', password: GOOD, role: 'admin' }, ORIGIN)
    expect(await outcome(at.users.remove(ada, 'Ada', ORIGIN))).toBe('self_delete')
  })

  test('is refused for oneself by an own token, as are the own role and deactivation', async () => {
    await at.users.create(ROOT, { username: 'eve', password: GOOD, role: 'admin' }, ORIGIN)
    const { token } = await at.tokens.create(ada, { name: 'ci', role: 'admin' }, ORIGIN)
    const byToken = await at.authenticate(`Bearer ${token}`)
    expect(
      await outcomes([
        at.users.remove(byToken, 'ada', ORIGIN),
        at.users.update(byToken, 'Ada', { role: 'reader' }, ORIGIN),
        at.users.update(byToken, 'Ada', { active: false }, ORIGIN),
        at.users.update(byToken, 'Ada', { full_name: 'Ada L.' }, ORIGIN),
        at.users.update(byToken, 'eve', { role: 'reader' }, ORIGIN),
      ]),
    ).toEqual(['self_delete', 'self_role_change', 'self_deactivate', 'ok', 'ok'])
  })
})

describe('a password set by an admin', () => {
  test('replaces the old one and ends the user’s sessions', async () => {
    const { access_token } = await at.login({ username: 'ben', password: GOOD }, ORIGIN)
    await at.audited()
    expect(await at.users.resetPassword(ada, 'ben', OTHER, ORIGIN)).toMatchObject({
      status: 'ok',
      message: expect.any(String),
    })
    expect(await at.audited()).toMatchObject([{ action: 'PASSWORD_RESET', user: 'Ada', extra: { username: 'ben' } }])
    expect(await outcome(at.authenticate(`Bearer ${access_token}`))).toBe('unauthorized')
    expect([await canLogIn('ben', GOOD), await canLogIn('ben', OTHER)]).toEqual([false, true])
  })

  test('must be strong, and is refused for external and unknown accounts', async () => {
    expect(await outcome(at.users.resetPassword(ada, 'ben', 'weak', ORIGIN))).toBe('weak_password')
    expect(await outcome(at.users.resetPassword(ada, 'nobody', OTHER, ORIGIN))).toBe('not_found')
    await external('ben')
    expect(await outcome(at.users.resetPassword(ada, 'ben', OTHER, ORIGIN))).toBe('external_account')
  })
})

describe('the own account', () => {
  test('is shown without its id; a token sees its own name and role', async () => {
    expect(await at.ownAccount.me(ada)).toEqual({
      username: 'Ada',
      role: 'admin',
      full_name: '',
      email: 'ada@example.org',
      active: true,
      auth_source: 'local',
      mfa_enabled: false,
      created_at: '2026-03-01T12:00:00.000+00:00',
      last_login: '2026-03-01T12:00:00.000+00:00',
      scopes: null,
      mfa_enrolment_required: false,
    })
    expect(await at.ownAccount.me(ROOT)).toEqual({
      username: 'token:root',
      role: 'admin',
      full_name: null,
      email: null,
      active: true,
      auth_source: null,
      mfa_enabled: null,
      created_at: null,
      last_login: null,
      scopes: null,
      mfa_enrolment_required: false,
    })
  })

  const change = (caller: Caller, current_password: string, new_password: string) =>
    at.ownAccount.changePassword(caller, { current_password, new_password }, ORIGIN)

  test('gets a new password with the old one; only the present session survives', async () => {
    const own = await at.login({ username: 'ben', password: GOOD }, ORIGIN)
    const elsewhere = await at.login({ username: 'ben', password: GOOD }, ORIGIN)
    const ben = await at.authenticate(`Bearer ${own.access_token}`)
    await at.audited()
    expect(await change(ben, GOOD, OTHER)).toMatchObject({ status: 'ok' })
    expect(await at.audited()).toMatchObject([{ action: 'PASSWORD_CHANGE', result: 'SUCCESS', user: 'ben' }])
    expect(await outcome(at.authenticate(`Bearer ${own.access_token}`))).toBe('ok')
    expect(await outcome(at.authenticate(`Bearer ${elsewhere.access_token}`))).toBe('unauthorized')
    expect(
      await outcome(
        at.authenticate(`Bearer ${(await at.login({ username: 'Ada', password: GOOD }, ORIGIN)).access_token}`),
      ),
    ).toBe('ok')
    expect([await canLogIn('ben', GOOD), await canLogIn('ben', OTHER)]).toEqual([false, true])
  })

  test('keeps its password when the current one is wrong; guesses are audited and delayed', async () => {
    const ben = await at.signIn('ben')
    await at.audited()
    for (let i = 0; i < 6; i++) expect(await outcome(change(ben, 'Wrong-1!', OTHER))).toBe('wrong_password')
    expect(at.waits).toEqual([500])
    expect((await at.audited()).map((e) => [e.action, e.result, e.user])).toEqual(
      Array(6).fill(['PASSWORD_CHANGE', 'FAILURE', 'ben']),
    )
    expect(await outcome(change(ben, GOOD, 'weak'))).toBe('weak_password')
    expect(await canLogIn('ben', GOOD)).toBe(true)
  })

  test('changed twice in parallel has one of the new passwords', async () => {
    const ben = await at.signIn('ben')
    const results = await outcomes([change(ben, GOOD, OTHER), change(ben, GOOD, 'Third-horse-3')])
    expect(results.sort()).toEqual(['ok', 'wrong_password'])
  })

  test('has no password to change when it is external or a token', async () => {
    const ben = await at.signIn('ben')
    await external('ben')
    expect(await outcome(change(ben, GOOD, OTHER))).toBe('external_account')
    expect(await outcome(change(ROOT, GOOD, OTHER))).toBe('session_required')
  })
})

describe('a forgotten password', () => {
  /** The tokens delivered for a request, by username. */
  async function ask(wanted: { username?: string; email?: string }) {
    at.delivered.length = 0
    const answer = at.passwordReset.request(wanted)
    await at.passwordReset.settled()
    expect(at.errors).toEqual([])
    return {
      answer,
      tokens: at.delivered.map(({ user, token }) => ({ name: user.username, email: user.email, token })),
    }
  }
  const complete = (token: string, new_password = OTHER) => at.passwordReset.complete({ token, new_password }, ORIGIN)

  test.each([
    [{ username: 'BEN' }, ['ben']],
    [{ email: 'ben@example.ORG' }, ['ben']],
    [{ username: 'nobody' }, []],
    [{ email: 'nobody@example.org' }, []],
    [{ email: 'ben@example.org\0' }, ['ben']],
    [{ username: 'off' }, []],
    [{ username: 'far' }, []],
    [{ username: 'mute' }, []],
    [{ email: '%' }, []],
  ])('asked for with %j is answered alike and delivered to %j', async (wanted, names) => {
    for (const username of ['off', 'far', 'mute']) {
      const email = username === 'mute' ? '' : `${username}@example.org`
      await at.users.create(ROOT, { username, password: GOOD, role: 'reader', email }, ORIGIN)
    }
    await at.users.update(ROOT, 'off', { active: false }, ORIGIN)
    await external('far')
    const { answer, tokens } = await ask(wanted)
    expect(answer).toEqual(at.passwordReset.request({ username: 'somebody' }))
    expect(tokens.map((t) => t.name)).toEqual(names)
  })

  test('needs a name or an address', () => {
    for (const wanted of [{}, { username: '' }, { email: '' }]) {
      expect(() => at.passwordReset.request(wanted)).toThrow(/validation_error/)
    }
  })

  test('is replaced once with the token, which is stored as a hash; all sessions end', async () => {
    const { access_token } = await at.login({ username: 'ben', password: GOOD }, ORIGIN)
    const token = (await ask({ username: 'ben' })).tokens[0]?.token ?? ''
    expect(JSON.stringify(await database.db.selectFrom('password_resets').selectAll().execute())).not.toContain(token)
    expect(await outcome(complete(token, 'weak'))).toBe('weak_password')
    await at.audited()
    expect(await complete(token)).toMatchObject({ status: 'ok' })
    expect(await at.audited()).toMatchObject([{ action: 'PASSWORD_RESET', user: 'ben', result: 'SUCCESS' }])
    expect(await outcome(complete(token, GOOD))).toBe('reset_token_invalid')
    expect(await outcome(at.authenticate(`Bearer ${access_token}`))).toBe('unauthorized')
    expect([await canLogIn('ben', GOOD), await canLogIn('ben', OTHER)]).toEqual([false, true])
  })

  test('used in parallel is used once', async () => {
    const token = (await ask({ username: 'ben' })).tokens[0]?.token ?? ''
    const results = await outcomes([complete(token), complete(token), complete(token)])
    expect(results.sort()).toEqual(['ok', 'reset_token_invalid', 'reset_token_invalid'])
  })

  test('has one live token, for thirty minutes', async () => {
    const first = (await ask({ username: 'ben' })).tokens[0]?.token ?? ''
    const second = (await ask({ username: 'ben' })).tokens[0]?.token ?? ''
    expect(await outcome(complete(first))).toBe('reset_token_invalid')
    at.pass(30 * 60_000)
    expect(await outcome(complete(second))).toBe('reset_token_invalid')
    const third = (await ask({ username: 'ben' })).tokens[0]?.token ?? ''
    at.pass(30 * 60_000 - 1)
    expect(await outcome(complete(third))).toBe('ok')
  })

  test.each([
    ['a new password', () => at.users.resetPassword(ROOT, 'ben', GOOD, ORIGIN)],
    ['another mail address', () => at.users.update(ROOT, 'ben', { email: 'new@example.org' }, ORIGIN)],
    ['being disabled', () => at.users.update(ROOT, 'ben', { active: false }, ORIGIN)],
    ['being deleted', () => at.users.remove(ROOT, 'ben', ORIGIN)],
  ])('cannot be replaced by a token from before %s', async (_what, act) => {
    const token = (await ask({ username: 'ben' })).tokens[0]?.token ?? ''
    await act()
    expect(await outcome(complete(token))).toBe('reset_token_invalid')
  })
})
