// Logins against a real slapd.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAccounts, DEFAULTS, GOOD, ORIGIN, outcome, ROOT } from '../../src/accounts/fixture.ts'
import { createDirectory } from '../../src/accounts/ldap/directory.ts'
import type { Settings } from '../../src/domain/settings.ts'
import { openDatabase, migrate, type Database } from '../../src/store/db.ts'
import { BASE, SERVICE, startSlapd, type Slapd } from './slapd.ts'

const PASSWORD = 'Ldap-pass-1'
const person = (name: string, more = '') => `
dn: uid=${name},ou=people,${BASE}
objectClass: inetOrgPerson
objectClass: adUser
cn: ${name}
sn: ${name}
displayName: The ${name}
mail: ${name}@example.test
sAMAccountName: ${name}
userPassword: ${PASSWORD}
${more}`
const LDIF = `
dn: ${BASE}
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,${BASE}
objectClass: organizationalUnit
ou: people

dn: ou=groups,${BASE}
objectClass: organizationalUnit
ou: groups

dn: ${SERVICE.dn}
objectClass: inetOrgPerson
cn: Service
sn: Service
userPassword: ${SERVICE.password}
${person('alice')}
${person('bob')}
dn: uid=second-bob,ou=people,${BASE}
objectClass: inetOrgPerson
cn: second
sn: second
mail: bob@example.test
userPassword: ${PASSWORD}
`
const GROUPS = `
dn: cn=Repo\\, Admins,ou=groups,${BASE}
changetype: add
objectClass: groupOfNames
cn: Repo, Admins
member: uid=alice,ou=people,${BASE}

dn: cn=devs,ou=groups,${BASE}
changetype: add
objectClass: groupOfNames
cn: devs
member: uid=bob,ou=people,${BASE}
`

let slapd: Slapd
let database: Database
beforeAll(async () => {
  slapd = await startSlapd(LDIF)
  slapd.modify(GROUPS)
  database = await openDatabase('pglite://memory')
  await migrate(database.db)
})
afterAll(async () => {
  await slapd.remove()
  await database.close()
})
beforeEach(() => database.db.deleteFrom('users').execute())

const settings = (more: Partial<Settings['ldap']> = {}): Settings => ({
  ...DEFAULTS,
  ldap: {
    ...DEFAULTS.ldap,
    enabled: true,
    host: 'localhost',
    port: slapd.port,
    bind_dn: SERVICE.dn,
    bind_password: SERVICE.password,
    base_dn: BASE,
    ...more,
  },
})
const ldaps = () => ({ port: slapd.tlsPort, use_ssl: true, ca_bundle_path: slapd.certificate })
const startTls = () => ({ use_starttls: true, ca_bundle_path: slapd.certificate })
const directoryWith = (more: Partial<Settings['ldap']> = {}, answerMs?: number) =>
  createDirectory({ settings: () => settings(more), onError: () => {}, ...(answerMs ? { answerMs } : {}) })

describe('the directory', () => {
  test.each<[string, () => Partial<Settings['ldap']>]>([
    ['without TLS', () => ({})],
    ['by ldaps', ldaps],
    ['by StartTLS', startTls],
    ['with a certificate that is not checked', () => ({ ...ldaps(), ca_bundle_path: '', verify_cert: false })],
  ])('finds a person and checks the password %s', async (how, more) => {
    const directory = directoryWith(more())
    expect(await directory.check('alice', PASSWORD)).toEqual({
      username: 'alice',
      email: 'alice@example.test',
      fullName: 'The alice',
      groups: [expect.stringMatching(/^cn=Repo/)],
    })
    expect(await directory.check('alice', 'Wrong-pass-1')).toEqual({ refused: 'wrong password' })
    expect(await directory.test()).toMatchObject({
      status: 'ok',
      server_info: { tls: how !== 'without TLS', naming_contexts: [BASE] },
    })
  })

  test('accepts no empty password, though this one binds without', async () => {
    expect(await directoryWith().check('alice', '')).toEqual({ refused: 'no password' })
  })

  test.each(['*', 'ali*', '*)(uid=*', 'alice)(|(uid=*', 'alice\\', 'al\0ice', 'nobody', 'bob@example.test*'])(
    'finds nobody named %j',
    async (name) => {
      expect(await directoryWith().check(name, PASSWORD)).toEqual({ refused: 'unknown user' })
    },
  )

  test('refuses a name that several entries have', async () => {
    const byMail = directoryWith({ user_filter: '(mail={username})' })
    expect(await byMail.check('bob@example.test', PASSWORD)).toEqual({ refused: 'several entries of this name' })
    expect(await byMail.check('alice@example.test', PASSWORD)).toMatchObject({ username: 'alice' })
  })

  test.each<[string, () => Partial<Settings['ldap']>, RegExp]>([
    ['an unknown authority', () => ({ ...ldaps(), ca_bundle_path: '' }), /self.signed/i],
    ['an unknown authority after StartTLS', () => ({ use_starttls: true }), /self.signed/i],
    ['a certificate for another name', () => ({ ...ldaps(), host: '127.0.0.1' }), /altnames|does not match/i],
    ['a wrong service password', () => ({ bind_password: 'wrong' }), /refused ldap.bind_dn/],
    ['a base that does not exist', () => ({ base_dn: 'dc=other,dc=test' }), /no entry ldap.base_dn/],
    ['a bundle that cannot be read', () => ({ ...ldaps(), ca_bundle_path: '/nonexistent/ca.pem' }), /ENOENT/],
    ['a filter that is malformed', () => ({ user_filter: '(&{username})' }), /./],
  ])('answers ldap_unavailable and names the reason to the admin: %s', async (_what, more, reason) => {
    const directory = directoryWith(more())
    expect(await outcome(directory.check('alice', PASSWORD))).toBe('ldap_unavailable')
    const result = await directory.test()
    expect(result).toMatchObject({ status: 'error', message: expect.stringMatching(reason) })
    expect(JSON.stringify(result)).not.toContain(SERVICE.password)
  })
})

test('people log in with the role of their group; without the directory local accounts still do', async () => {
  const groups = { group_admin: `cn=Repo\\2C Admins, ou=groups, ${BASE}`, group_uploader: 'devs' }
  const at = await createAccounts(database.db, {
    settings: settings(groups),
    directory: directoryWith(groups, 2_000),
  })
  await at.users.create(ROOT, { username: 'local', password: GOOD, role: 'admin' }, ORIGIN)
  const login = (username: string, password: string) => outcome(at.login({ username, password }, ORIGIN))
  expect([await login('alice', PASSWORD), await login('BOB', PASSWORD), await login('bob', 'wrong')]).toEqual([
    'ok',
    'ok',
    'unauthorized',
  ])
  const roles = async () =>
    (await at.users.list()).users.map(({ username, role, auth_source }) => [username, role, auth_source])
  expect(await roles()).toEqual([
    ['alice', 'admin', 'ldap'],
    ['bob', 'uploader', 'ldap'],
    ['local', 'admin', 'local'],
  ])
  slapd.modify(`dn: cn=devs,ou=groups,${BASE}\nchangetype: delete\n`)
  expect(await login('bob', PASSWORD)).toBe('ok')
  expect((await roles())[1]).toEqual(['bob', 'reader', 'ldap'])

  // Connections are accepted, but nothing is answered: local accounts do not wait for it.
  slapd.pause()
  const stuck = login('alice', PASSWORD)
  expect(await login('local', GOOD)).toBe('ok')
  expect(await stuck).toBe('ldap_unavailable')
  slapd.resume()
  await slapd.kill()
  expect([await login('alice', PASSWORD), await login('local', GOOD)]).toEqual(['ldap_unavailable', 'ok'])
  await slapd.start()
  expect(await login('alice', PASSWORD)).toBe('ok')
  await at.close()
})

test('a person who is deleted or disabled in the directory is gone, and groups of groups count where the settings say so', async () => {
  slapd.modify(`dn: uid=carl,ou=people,${BASE}
changetype: add
objectClass: inetOrgPerson
objectClass: adUser
cn: carl
sn: carl
mail: carl@example.test
sAMAccountName: carl
userPassword: ${PASSWORD}

dn: cn=inner,ou=groups,${BASE}
changetype: add
objectClass: groupOfNames
cn: inner
member: uid=carl,ou=people,${BASE}

dn: cn=outer,ou=groups,${BASE}
changetype: add
objectClass: groupOfNames
cn: outer
member: cn=inner,ou=groups,${BASE}

dn: cn=inner,ou=groups,${BASE}
changetype: modify
add: member
member: cn=outer,ou=groups,${BASE}
`)
  const groups = { group_maintainer: 'outer', user_filter: '(mail={username})' }
  const rolesWith = async (more: Partial<Settings['ldap']>) => {
    const at = await createAccounts(database.db, { settings: settings(more), directory: directoryWith(more) })
    await at.login({ username: 'carl@example.test', password: PASSWORD }, ORIGIN)
    const [carl] = (await at.users.list()).users.filter(({ username }) => username === 'carl')
    await at.close()
    return carl?.role
  }
  expect(await rolesWith(groups)).toBe('reader')
  // The two groups contain each other: the search still ends.
  expect(await rolesWith({ ...groups, nested_groups: true })).toBe('maintainer')

  // The account is found by its name, although people log in with another attribute.
  const directory = directoryWith({ ...groups, nested_groups: true })
  expect(await directory.look('carl')).toMatchObject({
    username: 'carl',
    groups: [/inner/, /outer/].map((one) => expect.stringMatching(one)),
  })
  expect(await directory.look('*')).toEqual({ refused: 'unknown user' })
  slapd.modify(`dn: uid=carl,ou=people,${BASE}\nchangetype: modify\nadd: userAccountControl\nuserAccountControl: 514\n`)
  expect(await directory.look('carl')).toEqual({ refused: 'disabled in the directory' })
  expect(await directory.check('carl@example.test', PASSWORD)).toEqual({ refused: 'disabled in the directory' })
  slapd.modify(`dn: uid=carl,ou=people,${BASE}\nchangetype: delete\n`)
  expect(await directory.look('carl')).toEqual({ refused: 'unknown user' })
  await slapd.kill()
  expect(await outcome(directory.look('carl'))).toBe('ldap_unavailable')
  await slapd.start()
})
