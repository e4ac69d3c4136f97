// Logins against a real Active Directory, of Samba.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccounts, DEFAULTS, ORIGIN, outcome } from '../../src/accounts/fixture.ts'
import { createDirectory } from '../../src/accounts/ldap/directory.ts'
import type { Settings } from '../../src/domain/settings.ts'
import { migrate, openDatabase, type Database } from '../../src/store/db.ts'
import { AD_BASE, startDomainController, type DomainController } from './samba.ts'

const PASSWORD = 'Ldap-pass-1'
const ADMINS = `CN=Repo Admins,CN=Users,${AD_BASE}`

let ad: DomainController
let database: Database
beforeAll(async () => {
  ad = await startDomainController()
  ad.tool('user', 'create', 'svc', 'Svc-pass-1')
  ad.tool('user', 'create', 'alice', PASSWORD, '--mail-address=alice@example.test', '--given-name=Alice')
  ad.tool('user', 'create', 'bob', PASSWORD)
  ad.tool('group', 'add', 'Repo Admins')
  ad.tool('group', 'add', 'inner')
  ad.tool('group', 'addmembers', 'inner', 'alice')
  ad.tool('group', 'addmembers', 'Repo Admins', 'inner')
  database = await openDatabase('pglite://memory')
  await migrate(database.db)
})
afterAll(async () => {
  await ad?.remove()
  await database?.close()
})

const settings = (more: Partial<Settings['ldap']> = {}): Settings => ({
  ...DEFAULTS,
  ldap: {
    ...DEFAULTS.ldap,
    ...{ enabled: true, host: ad.host, port: ad.tlsPort, use_ssl: true, verify_cert: false },
    ...{ bind_dn: `CN=svc,CN=Users,${AD_BASE}`, bind_password: 'Svc-pass-1', base_dn: AD_BASE },
    ...more,
  },
})
const directoryWith = (more: Partial<Settings['ldap']> = {}) =>
  createDirectory({ settings: () => settings(more), onError: () => {} })

test.each<[string, Partial<Settings['ldap']>, object]>([
  ['ldaps', {}, { status: 'ok', server_info: { tls: true } }],
  ['StartTLS', { port: 389, use_ssl: false, use_starttls: true }, { status: 'ok', server_info: { tls: true } }],
  ['a service account by its principal name', { bind_dn: 'svc@example.test' }, { status: 'ok' }],
  [
    'no TLS, which it refuses',
    { port: 389, use_ssl: false },
    { status: 'error', message: expect.stringMatching(/encryption required/) },
  ],
])('the connection is tested with %s', async (_, more, expected) => {
  expect(await directoryWith(more).test()).toMatchObject(expected)
})

test.each<[string, Partial<Settings['ldap']>]>([
  ['their memberOf is followed', { nested_groups: true, group_admin: ADMINS }],
  [
    'the filter asks the server (1.2.840.113556.1.4.1941)',
    { user_filter: `(&(sAMAccountName={username})(memberOf:1.2.840.113556.1.4.1941:=${ADMINS}))` },
  ],
])('groups of groups count where %s', async (_, more) => {
  const directory = directoryWith(more)
  expect(await directory.check('ALICE', PASSWORD)).toMatchObject({ username: 'alice', email: 'alice@example.test' })
  const at = await createAccounts(database.db, { settings: settings(more), directory })
  expect(await outcome(at.login({ username: 'alice', password: PASSWORD }, ORIGIN))).toBe('ok')
  const [alice] = (await at.users.list()).users
  expect(alice).toMatchObject({ username: 'alice', role: more.group_admin ? 'admin' : 'reader' })
  await at.close()
  await database.db.deleteFrom('users').execute()
})

test('a person who is outside the group of the filter, disabled, deleted, or must change the password does not log in', async () => {
  const outside = directoryWith({
    user_filter: `(&(sAMAccountName={username})(memberOf:1.2.840.113556.1.4.1941:=${ADMINS}))`,
  })
  expect(await outside.check('bob', PASSWORD)).toEqual({ refused: 'unknown user' })
  const directory = directoryWith()
  expect(await directory.check('bob', PASSWORD)).toMatchObject({ username: 'bob' })
  ad.tool('user', 'disable', 'bob')
  expect(await directory.check('bob', PASSWORD)).toHaveProperty('refused')
  ad.tool('user', 'enable', 'bob')
  ad.tool('user', 'setpassword', 'bob', `--newpassword=${PASSWORD}-2`, '--must-change-at-next-login')
  expect(await directory.check('bob', `${PASSWORD}-2`)).toHaveProperty('refused')
  ad.tool('user', 'delete', 'bob')
  expect(await directory.check('bob', `${PASSWORD}-2`)).toEqual({ refused: 'unknown user' })
})
