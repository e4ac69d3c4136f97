// What happens to accounts that the directory no longer has, and to those it has again.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { HOUR_MS } from '../../domain/durations.ts'
import { Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Database } from '../../store/db.ts'
import { createAccounts, DEFAULTS, GOOD, ORIGIN, outcome, ROOT, type Accounts } from '../fixture.ts'
import type { Person } from './entries.ts'

const LDAP: Settings['ldap'] = {
  ...DEFAULTS.ldap,
  ...{ enabled: true, host: 'directory.example.org', group_admin: 'admins', group_maintainer: 'releasers' },
}

let database: Database
let at: Accounts
let groups: string[]
let answer: (username: string) => Person | { refused: string }
let settings: Settings
let made = 0
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  groups = ['admins']
  settings = { ...DEFAULTS, ldap: LDAP }
  answer = (username) => ({ username, email: '', fullName: 'Some Body', groups })
  await database.db.deleteFrom('users').execute()
  at = await createAccounts(database.db, {
    get settings() {
      return settings
    },
    directory: {
      check: async (username) => answer(username),
      look: async (username) => answer(username),
      test: async () => ({ status: 'ok', message: '' }),
    },
  })
  await at.users.create(ROOT, { username: 'local', password: GOOD, role: 'admin' }, ORIGIN)
  return () => at.close()
})

const away = () => {
  throw new Problem('ldap_unavailable', 'the directory does not answer')
}
/** Anna logs in and makes an API token. */
async function anna() {
  const { access_token: session } = (await at.login({ username: 'anna', password: 'any' }, ORIGIN)) as {
    access_token: string
  }
  const caller = await at.authenticate(`Bearer ${session}`)
  const { token } = await at.tokens.create(caller, { name: `of-anna-${++made}`, role: caller.role }, ORIGIN)
  const roleWith = async (credential: string) => (await at.authenticate(`Bearer ${credential}`)).role
  return {
    caller,
    refresh: () => at.sessions.refresh(caller),
    roles: () => Promise.all([session, token].map((one) => roleWith(one).catch((error: Problem) => error.detail))),
    tokenRole: () => roleWith(token).catch((error: Problem) => error.detail),
  }
}

test('the job suspends a person who left the directory, with sessions and tokens, and lifts that when the entry is back', async () => {
  const { roles } = await anna()
  expect(await roles()).toEqual(['admin', 'admin'])
  await at.audited()

  answer = () => ({ refused: 'unknown user' })
  at.pass(HOUR_MS / 2)
  expect(await at.membership.compareAll()).toEqual({ checked: 1, gone: 1 })
  expect(await at.membership.compareAll()).toEqual({ checked: 1, gone: 1 })
  for (const sentence of await roles()) expect(sentence).toContain('the directory does not have this account')
  expect(await at.audited()).toMatchObject([
    { action: 'USER_SUSPEND', user: 'ldap_sync', detail: 'anna is suspended: unknown user' },
  ])

  answer = (username) => ({ username, email: '', fullName: 'Some Body', groups })
  await at.membership.compareAll()
  expect(await roles()).toEqual(['admin', 'admin'])
  expect(await at.audited()).toMatchObject([{ action: 'USER_RESTORE', user: 'ldap_sync' }])
})

test('a refresh asks the directory: who is gone gets no new session, and a lost group counts at once', async () => {
  const { refresh, roles, tokenRole } = await anna()
  groups = ['releasers']
  expect(await outcome(refresh())).toBe('ok')
  expect(await tokenRole()).toBe('maintainer')

  const again = await anna()
  answer = () => ({ refused: 'disabled in the directory' })
  expect(await outcome(again.refresh())).toBe('unauthorized')
  for (const sentence of await roles()) expect(sentence).not.toBe('maintainer')
})

test('an outage throws nobody out before the grace time is over, and an answer ends it', async () => {
  const { refresh, tokenRole } = await anna()
  answer = away
  expect(await outcome(refresh())).toBe('ok')
  expect(await outcome(at.membership.compareAll())).toBe('ldap_unavailable')
  at.pass(71 * HOUR_MS)
  expect(await tokenRole()).toBe('admin')
  at.pass(2 * HOUR_MS)
  expect(await tokenRole()).toContain('has not confirmed this account for more than 72 hours')
  answer = (username) => ({ username, email: '', fullName: 'Some Body', groups })
  await at.membership.compareAll()
  expect(await tokenRole()).toBe('admin')
})

test('a directory that is switched off confirms nobody: the grace time counts', async () => {
  const { tokenRole } = await anna()
  settings = { ...DEFAULTS, ldap: { ...LDAP, enabled: false } }
  expect(await at.membership.compareAll()).toEqual({ checked: 0, gone: 0 })
  expect(await tokenRole()).toBe('admin')
  at.pass(73 * HOUR_MS)
  expect(await tokenRole()).toContain('has not confirmed')
})

test('local accounts are never asked about', async () => {
  answer = () => ({ refused: 'unknown user' })
  expect(await at.membership.compareAll()).toEqual({ checked: 0, gone: 0 })
  const caller = await at.signIn('local')
  expect(await outcome(at.sessions.refresh(caller))).toBe('ok')
})
