// Which names the directory is asked about, and what happens to the accounts that it knows.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { Settings } from '../../domain/settings.ts'
import { Problem } from '../../domain/problem.ts'
import type { Database } from '../../store/db.ts'
import { createAccounts, DEFAULTS, GOOD, ORIGIN, OTHER, outcome, ROOT, type Accounts } from '../fixture.ts'
import type { Person } from './entries.ts'

let database: Database & { url: string }
let at: Accounts
let asked: string[]
let answer: (username: string) => Person | { refused: string }
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => database.close())
beforeEach(async () => {
  asked = []
  answer = (username) => ({ username, email: `${username}@example.org`, fullName: 'Some Body', groups: [] })
  await database.db.deleteFrom('users').execute()
  at = await accountsWith()
  await at.users.create(ROOT, { username: 'local', password: GOOD, role: 'admin' }, ORIGIN)
  await at.audited()
  return () => at.close()
})

const accountsWith = (ldap: Partial<Settings['ldap']> = {}, isLicensed = true) =>
  createAccounts(database.db, {
    settings: { ...DEFAULTS, ldap: { ...DEFAULTS.ldap, enabled: true, host: 'directory.example.org', ...ldap } },
    isLicensed,
    directory: {
      async check(username) {
        asked.push(username)
        return answer(username)
      },
      look: async (username) => answer(username),
      test: async () => ({ status: 'ok', message: '' }),
    },
  })
const login = (username: string, accounts = at, password = 'Ldap-pass-1') =>
  outcome(accounts.login({ username, password }, ORIGIN))
const user = async (username: string) => (await at.users.list()).users.find((one) => one.username === username)
/** Logs in with other settings. */
async function loginWith(ldap: Partial<Settings['ldap']>, username: string, isLicensed = true) {
  const other = await accountsWith(ldap, isLicensed)
  const result = await login(username, other)
  await other.close()
  return result
}

describe('the directory', () => {
  test('is asked for names without a local account only, and never when it is off', async () => {
    await at.users.create(ROOT, { username: 'gone', password: GOOD, role: 'reader' }, ORIGIN)
    await at.users.update(ROOT, 'gone', { active: false }, ORIGIN)
    expect([await login('local'), await login('GONE'), await login('a*'), await login('')]).toEqual(
      Array(4).fill('unauthorized'),
    )
    expect(await login('local', at, GOOD)).toBe('ok')
    expect(await loginWith({ enabled: false }, 'ann')).toBe('unauthorized')
    expect(await loginWith({ host: '' }, 'ann')).toBe('unauthorized')
    expect(await loginWith({}, 'ann', false)).toBe('unauthorized')
    expect(asked).toEqual([])
    expect(await login('ann')).toBe('ok')
    expect(asked).toEqual(['ann'])
  })

  test('that is away stops nobody with a local account; others learn why', async () => {
    answer = () => {
      throw new Problem('ldap_unavailable', 'the directory does not answer')
    }
    expect([await login('ann'), await login('local', at, GOOD)]).toEqual(['ldap_unavailable', 'ok'])
    expect(await at.audited()).toMatchObject([
      { action: 'LOGIN', result: 'FAILURE', user: 'ann', detail: 'the directory does not answer' },
      { action: 'LOGIN', result: 'SUCCESS', user: 'local' },
    ])
  })

  test('creates an account at the first login, and updates it later', async () => {
    expect(await login('Ann')).toBe('ok')
    expect(await user('Ann')).toMatchObject({
      role: 'reader',
      auth_source: 'ldap',
      email: 'Ann@example.org',
      full_name: 'Some Body',
      last_login: expect.any(String),
    })
    answer = () => ({ username: 'ann', email: 'no address', fullName: 'New\nName', groups: [] })
    expect(await login('ann')).toBe('ok')
    expect(await user('Ann')).toMatchObject({ email: '', full_name: 'New Name' })
    expect(await at.audited()).toMatchObject([
      { action: 'USER_CREATE', user: 'ldap_provision' },
      { action: 'LOGIN', result: 'SUCCESS', user: 'Ann' },
      { action: 'USER_UPDATE', user: 'ldap_sync' },
      { action: 'LOGIN', result: 'SUCCESS', user: 'ann' },
    ])
    expect(await outcome(at.users.resetPassword(ROOT, 'ann', OTHER, ORIGIN))).toBe('external_account')
  })

  test('asks for the code of a second factor', async () => {
    await login('ann')
    await database.db
      .updateTable('users')
      .set({ mfa_enabled: true, mfa_secret: 'x' })
      .where('username', '=', 'ann')
      .execute()
    expect(await at.login({ username: 'ann', password: 'x' }, ORIGIN)).toMatchObject({ mfa_required: true })
  })
})

describe('refused with a reason in the audit log:', () => {
  const person = { email: '', fullName: '', groups: [] }
  test.each<[string, Person | { refused: string }, string]>([
    ['a wrong password', { refused: 'wrong password' }, 'wrong password'],
    ['the name of a local account', { ...person, username: 'LOCAL' }, 'an account of another kind has this name'],
    ['a name that is none here', { ...person, username: 'a b' }, 'the name is no user name here'],
  ])('%s', async (_what, given, detail) => {
    answer = () => given
    expect(await login('ann')).toBe('unauthorized')
    expect((await at.audited()).at(-1)).toMatchObject({ action: 'LOGIN', result: 'FAILURE', user: 'ann', detail })
    expect(await at.users.list()).toMatchObject({ total: 1, users: [{ username: 'local', auth_source: 'local' }] })
  })

  test('a name without an account when none is created', async () => {
    expect(await loginWith({ auto_provision: false }, 'ann')).toBe('unauthorized')
    await login('ann')
    expect(await loginWith({ auto_provision: false }, 'ann')).toBe('ok')
  })

  test('a disabled account', async () => {
    await login('ann')
    await at.users.update(ROOT, 'ann', { active: false }, ORIGIN)
    expect(await login('ann')).toBe('unauthorized')
  })
})

describe('the role', () => {
  const groups = { group_admin: 'ops', group_uploader: 'devs' }
  const inGroups = (...names: string[]) => {
    answer = (username) => ({ username, email: '', fullName: '', groups: names.map((name) => `cn=${name},dc=x`) })
  }

  test('follows the groups at each login where groups are mapped', async () => {
    inGroups('devs', 'ops')
    expect([await loginWith(groups, 'ann'), (await user('ann'))?.role]).toEqual(['ok', 'admin'])
    inGroups('devs')
    expect([await loginWith(groups, 'ann'), (await user('ann'))?.role]).toEqual(['ok', 'uploader'])
    expect((await at.audited()).find(({ action }) => action === 'USER_ROLE_CHANGE')).toMatchObject({
      user: 'ldap_sync',
      extra: { username: 'ann', from: 'admin', to: 'uploader' },
    })
    // An admin's change lasts until the next login.
    await at.users.update(ROOT, 'ann', { role: 'admin' }, ORIGIN)
    expect([await loginWith(groups, 'ann'), (await user('ann'))?.role]).toEqual(['ok', 'uploader'])
  })

  test('is kept where none is mapped', async () => {
    await login('ann')
    await at.users.update(ROOT, 'ann', { role: 'maintainer' }, ORIGIN)
    expect([await login('ann'), (await user('ann'))?.role]).toEqual(['ok', 'maintainer'])
  })

  test('is not taken from the last active admin, whose login is refused', async () => {
    inGroups('ops')
    await loginWith(groups, 'ann')
    await at.users.update(ROOT, 'local', { role: 'reader' }, ORIGIN)
    inGroups()
    expect([await loginWith(groups, 'ann'), (await user('ann'))?.role]).toEqual(['unauthorized', 'admin'])
  })
})
