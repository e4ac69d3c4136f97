// How long accounts of directories and identity providers work without a confirmation from there.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { HOUR_MS } from '../domain/durations.ts'
import type { Database } from '../store/db.ts'
import { createAccounts, DEFAULTS, GOOD, ORIGIN, outcome, ROOT, type Accounts } from './fixture.ts'
import { requireStanding, type DirectoryStanding } from './standing.ts'

const NOW = new Date('2026-03-01T12:00:00Z')
const ago = (hours: number) => new Date(NOW.getTime() - hours * HOUR_MS)
const account = (more: Partial<DirectoryStanding>): DirectoryStanding => ({
  ...{ auth_source: 'ldap', directory_checked_at: null, directory_gone_at: null, last_login: null },
  ...{ created_at: ago(100_000), ...more },
})

test.each<[string, Partial<DirectoryStanding>, boolean]>([
  ['of this service', { auth_source: 'local' }, true],
  ['of this service, that a directory once had', { auth_source: 'local', directory_gone_at: ago(1) }, true],
  ['that the directory had an hour ago', { directory_checked_at: ago(1) }, true],
  ['that the directory had 73 hours ago', { directory_checked_at: ago(73) }, false],
  ['that logged in by a build without checks', { last_login: ago(1) }, true],
  ['that the directory does not have', { directory_checked_at: ago(1), directory_gone_at: ago(0.5) }, false],
  ['that logged in at the provider 89 days ago', { auth_source: 'oidc', last_login: ago(89 * 24) }, true],
  ['that logged in at the provider 91 days ago', { auth_source: 'oidc', last_login: ago(91 * 24) }, false],
])('an account %s counts: %o %s', (_, more, counts) => {
  const check = () => requireStanding(account(more), DEFAULTS, NOW)
  if (counts) expect(check).not.toThrow()
  else expect(check).toThrow(expect.objectContaining({ code: 'unauthorized' }))
})

test('0 days mean for ever', () => {
  const settings = { ...DEFAULTS, oidc: { ...DEFAULTS.oidc, login_days: 0 } }
  expect(() => requireStanding(account({ auth_source: 'oidc' }), settings, NOW)).not.toThrow()
})

let database: Database
let at: Accounts
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.db.deleteFrom('users').execute()
  at = await createAccounts(database.db)
  return () => at.close()
})

test('the session of an account of a provider is refreshed for four hours, another for twelve', async () => {
  const refreshed = async (source: 'local' | 'oidc') => {
    const username = `of-${source}`
    await at.users.create(ROOT, { username, password: GOOD, role: 'admin' }, ORIGIN)
    let caller = await at.signIn(username)
    await database.db.updateTable('users').set({ auth_source: source }).where('username', '=', username).execute()
    for (let hours = 0; ; hours += 0.5) {
      const result = await at.sessions.refresh(caller).catch(() => null)
      if (!result) return hours
      caller = await at.authenticate(`Bearer ${result.access_token}`)
      at.pass(HOUR_MS / 2)
    }
  }
  expect([await refreshed('oidc'), await refreshed('local')]).toEqual([4, 12])
  expect(await outcome(at.sessions.refresh({ ...ROOT }))).toBe('session_required')
})
