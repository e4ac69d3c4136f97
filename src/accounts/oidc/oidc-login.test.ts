// Logins against the provider library oidc-provider, and against a dishonest issuer.
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import {
  CLIENT,
  REDIRECT,
  startIdentityProvider,
  type IdentityProvider,
} from '../../../test/fakes/identity-provider.ts'
import { startIssuer, type Issuer } from '../../../test/fakes/issuer.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Database } from '../../store/db.ts'
import {
  createAccounts,
  DEFAULTS,
  GOOD,
  ORIGIN,
  otherProcess,
  outcome,
  outcomes,
  ROOT,
  type Accounts,
} from '../fixture.ts'

let database: Database & { url: string }
let idp: IdentityProvider
let at: Accounts
beforeAll(async () => {
  database = await createTestDatabase()
  idp = await startIdentityProvider()
})
afterAll(async () => {
  await idp.close()
  await database.close()
})
beforeEach(async () => {
  await database.db.deleteFrom('users').execute()
  await database.db.deleteFrom('oidc_logins').execute()
  idp.person = 'sub-ann'
  idp.people = {
    'sub-ann': {
      preferred_username: 'Ann',
      email: 'ann@example.org',
      name: 'Ann Other',
      groups: ['devs', 'repo-admins'],
    },
    'sub-bob': { preferred_username: 'bob', groups: 'devs' },
  }
  at = await accountsWith()
  await at.users.create(ROOT, { username: 'local', password: GOOD, role: 'admin' }, ORIGIN)
  await at.audited()
  return () => at.close()
})

const settingsWith = (oidc: Partial<Settings['oidc']>): Settings => ({
  ...DEFAULTS,
  oidc: {
    ...DEFAULTS.oidc,
    enabled: true,
    discovery_url: idp.url,
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
    scopes: 'openid email profile groups',
    auto_provision: true,
    ...oidc,
  },
})
const accountsWith = (oidc: Partial<Settings['oidc']> = {}, db = database.db) =>
  createAccounts(db, { settings: settingsWith(oidc) })

function secrets() {
  const code_verifier = randomBytes(32).toString('base64url')
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  return { code_verifier, code_challenge, state: randomBytes(24).toString('base64url') }
}

/** Goes to the provider as a browser does. @returns what the callback is called with */
async function visited(accounts = at) {
  const { code_verifier, code_challenge, state } = secrets()
  const { authorization_url } = await accounts.oidc.authorize({ code_challenge, state })
  const back = await idp.visit(authorization_url)
  expect(back.state).toBe(state)
  return { code: back.code, state, code_verifier }
}
const login = async (accounts = at) => accounts.oidc.callback(await visited(accounts), ORIGIN)
/** Logs in with other settings. */
async function loginWith(oidc: Partial<Settings['oidc']>) {
  const other = await accountsWith(oidc)
  const result = await outcome(login(other))
  await other.close()
  return result
}
const users = async () =>
  (await at.users.list()).users
    .filter(({ auth_source }) => auth_source === 'oidc')
    .map(({ username, role, email, full_name, active }) => ({ username, role, email, full_name, active }))

describe('a logout', () => {
  const logoutWith = async (oidc: Partial<Settings['oidc']>) => {
    const accounts = await accountsWith(oidc)
    const { access_token } = await login(accounts)
    const answer = await accounts.sessions.end(await accounts.authenticate(`Bearer ${access_token}`), ORIGIN)
    await accounts.close()
    return answer
  }

  test('leads to the end of the session at the provider where the settings ask for it', async () => {
    const { end_session_url } = await logoutWith({ logout_at_provider: true })
    const address = new URL(end_session_url ?? '')
    expect(Object.fromEntries(address.searchParams)).toEqual({
      client_id: CLIENT.id,
      post_logout_redirect_uri: REDIRECT.replace('/oidc-callback', '/login'),
    })
    const page = await fetch(address)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('/session/end/confirm')])
  })

  test('ends here only where the settings do not, and for people of another source', async () => {
    expect(await logoutWith({})).toEqual({ status: 'logged_out' })
    const accounts = await accountsWith({ logout_at_provider: true })
    expect(await accounts.sessions.end(await accounts.signIn('local'), ORIGIN)).toEqual({ status: 'logged_out' })
    await accounts.close()
  })

  test.each(['javascript:alert(1)', 'no address', 7])(
    'ends here only where the provider names %j as the place of logouts',
    async (place) => {
      const issuer = await startIssuer()
      issuer.document = { end_session_endpoint: place }
      const accounts = await accountsWith({ logout_at_provider: true, discovery_url: issuer.url })
      const { access_token } = await login()
      const caller = await accounts.authenticate(`Bearer ${access_token}`)
      expect(await accounts.sessions.end(caller, ORIGIN)).toEqual({ status: 'logged_out' })
      await accounts.close()
      await issuer.close()
    },
  )

  test('ends here while the provider is away', async () => {
    const accounts = await accountsWith({ logout_at_provider: true, discovery_url: 'http://127.0.0.1:9' })
    const { access_token } = await login()
    const caller = await accounts.authenticate(`Bearer ${access_token}`)
    expect(await accounts.sessions.end(caller, ORIGIN)).toEqual({ status: 'logged_out' })
    await accounts.close()
  })
})

describe('a login', () => {
  test('creates the account of a person, opens a session, and is recorded', async () => {
    const answer = await login()
    expect(answer).toMatchObject({ mfa_required: false, token_type: 'bearer' })
    expect(await at.authenticate(`Bearer ${answer.access_token}`)).toMatchObject({ name: 'Ann', role: 'reader' })
    expect(await users()).toEqual([
      { username: 'Ann', role: 'reader', email: 'ann@example.org', full_name: 'Ann Other', active: true },
    ])
    expect(await at.audited()).toMatchObject([
      { action: 'OIDC_PROVISION', user: 'oidc_provision', result: 'SUCCESS', ip: ORIGIN.ip },
      { action: 'OIDC_LOGIN', user: 'Ann', result: 'SUCCESS', detail: `logged in as ${idp.url} sub-ann` },
    ])
  })

  test('finds the account by its subject when the person has another name by now', async () => {
    await login()
    idp.people['sub-ann'] = { ...idp.people['sub-ann'], preferred_username: 'ann.married', email: 'new@example.org' }
    await at.audited()
    await login()
    expect(await users()).toMatchObject([{ username: 'Ann', email: 'new@example.org' }])
    expect((await at.audited()).map(({ action, user }) => [action, user])).toEqual([
      ['USER_UPDATE', 'oidc_sync'],
      ['OIDC_LOGIN', 'Ann'],
    ])
  })

  test('evaluates the role at each login where claims are mapped, and keeps it otherwise', async () => {
    const mapped = { claim_role: 'groups', role_map: { devs: 'uploader', 'repo-admins': 'maintainer' } } as const
    expect(await loginWith(mapped)).toBe('ok')
    expect(await users()).toMatchObject([{ role: 'maintainer' }])
    idp.people['sub-ann'] = { ...idp.people['sub-ann'], groups: ['devs', 'constructor'] }
    expect(await loginWith(mapped)).toBe('ok')
    expect(await users()).toMatchObject([{ role: 'uploader' }])
    await at.users.update(ROOT, 'Ann', { role: 'auditor' }, ORIGIN)
    expect(await loginWith({})).toBe('ok')
    expect(await users()).toMatchObject([{ role: 'auditor' }])
    idp.people['sub-ann'] = { ...idp.people['sub-ann'], groups: [] }
    expect(await loginWith({ ...mapped, default_role: 'reader' })).toBe('ok')
    expect(await users()).toMatchObject([{ role: 'reader' }])
    expect((await at.audited()).filter(({ action }) => action === 'USER_ROLE_CHANGE')).toHaveLength(3)
  })

  test('asks for a code when the account has a second factor', async () => {
    const caller = await at.authenticate(`Bearer ${(await login()).access_token}`)
    await at.mfa.setup(caller)
    await database.db.updateTable('users').set({ mfa_enabled: true }).where('username', '=', 'Ann').execute()
    expect(await login()).toMatchObject({ mfa_required: true, access_token: '' })
  })

  test('may begin at one replica and end at another', async () => {
    const other = await otherProcess(database)
    const elsewhere = await accountsWith({}, other.db)
    expect(await outcome(elsewhere.oidc.callback(await visited(), ORIGIN))).toBe('ok')
    await elsewhere.close()
    await other.close()
  })

  test('works once, also when it is sent three times at once', async () => {
    const given = await visited()
    const results = await outcomes([1, 2, 3].map(() => at.oidc.callback(given, ORIGIN)))
    expect(results.sort()).toEqual(['ok', 'unauthorized', 'unauthorized'])
    expect(await at.db.selectFrom('oidc_logins').selectAll().execute()).toEqual([])
  })

  test('that two tabs begin first opens two sessions of one account', async () => {
    const [one, two] = [await visited(), await visited()]
    expect(await outcomes([at.oidc.callback(one, ORIGIN), at.oidc.callback(two, ORIGIN)])).toEqual(['ok', 'ok'])
    expect(await users()).toHaveLength(1)
  })
})

describe('refused is', () => {
  test.each<[string, (given: Awaited<ReturnType<typeof visited>>) => object | Promise<object>]>([
    ['another state', () => ({ state: secrets().state })],
    ['another verifier', () => ({ code_verifier: secrets().code_verifier })],
    ['another code', () => ({ code: 'guessed' })],
    ['the code of another login', async () => ({ code: (await visited()).code })],
    ['another redirect', () => ({ redirect_uri: 'https://evil.example/oidc-callback' })],
    ['the answer of another issuer', () => ({ iss: 'https://evil.example' })],
    ['a login that took more than ten minutes', () => (at.pass(10 * 60_000), {})],
  ])('%s', async (_what, change) => {
    const given = await visited()
    const changed = await change(given)
    await at.audited()
    expect(await outcome(at.oidc.callback({ ...given, ...changed }, ORIGIN))).toBe('unauthorized')
    expect(await users()).toEqual([])
    expect(await at.audited()).toMatchObject([{ action: 'OIDC_LOGIN', result: 'FAILURE', user: null, ip: ORIGIN.ip }])
  })

  test('a person without an account while none are created, and one whose account is disabled', async () => {
    expect(await loginWith({ auto_provision: false })).toBe('forbidden')
    await login()
    expect(await loginWith({ auto_provision: false })).toBe('ok')
    await at.users.update(ROOT, 'ann', { active: false }, ORIGIN)
    await at.audited()
    expect(await outcome(login())).toBe('forbidden')
    expect(await at.audited()).toMatchObject([{ action: 'OIDC_LOGIN', user: 'Ann', result: 'FAILURE' }])
  })

  test.each(['local', 'LOCAL', 'far', 'bob'])('a person with the name of another account: %s', async (name) => {
    await at.users.create(ROOT, { username: 'far', password: GOOD, role: 'reader' }, ORIGIN)
    await database.db.updateTable('users').set({ auth_source: 'ldap' }).where('username', '=', 'far').execute()
    idp.person = 'sub-bob'
    await login()
    const before = await at.users.list()
    idp.person = 'sub-ann'
    idp.people['sub-ann'] = { ...idp.people['sub-ann'], preferred_username: name }
    expect(await outcome(login())).toBe('account_conflict')
    expect(await at.users.list()).toEqual(before)
  })

  test.each([undefined, '', 'x', 'a b c', '../admin', ['ann'], 'a'.repeat(65)])('the user name %j', async (name) => {
    idp.people['sub-ann'] = { ...idp.people['sub-ann'], preferred_username: name }
    expect(await outcome(login())).toBe('forbidden')
    expect(await users()).toEqual([])
  })

  test('a login that would take the role from the last admin', async () => {
    const admins = { claim_role: 'groups', role_map: { 'repo-admins': 'admin' } } as const
    expect(await loginWith(admins)).toBe('ok')
    await at.users.update(ROOT, 'local', { role: 'reader' }, ORIGIN)
    idp.people['sub-ann'] = { ...idp.people['sub-ann'], groups: [] }
    expect(await loginWith(admins)).toBe('forbidden')
    expect(await users()).toMatchObject([{ role: 'admin' }])
  })
})

describe('the settings', () => {
  test.each<Partial<Settings['oidc']>>([{ enabled: false }, { discovery_url: '' }, { client_id: '' }])(
    'with %j allow no login',
    async (oidc) => {
      const given = await visited()
      const other = await accountsWith(oidc)
      expect(other.oidc.publicConfig()).toEqual({ enabled: false })
      expect(await outcome(other.oidc.authorize(secrets()))).toBe('oidc_disabled')
      expect(await outcome(other.oidc.callback(given, ORIGIN))).toBe('oidc_disabled')
      await other.close()
    },
  )

  test('name the button, the provider and the way back', async () => {
    expect(at.oidc.publicConfig()).toEqual({ enabled: true, provider_name: 'SSO' })
    const wanted = secrets()
    const { authorization_url, redirect_uri } = await at.oidc.authorize({ ...wanted, redirect_uri: REDIRECT })
    const query = Object.fromEntries(new URL(authorization_url).searchParams)
    expect(redirect_uri).toBe(REDIRECT)
    expect(query).toMatchObject({
      client_id: CLIENT.id,
      redirect_uri: REDIRECT,
      response_type: 'code',
      scope: 'openid email profile groups',
      code_challenge: wanted.code_challenge,
      code_challenge_method: 'S256',
      state: wanted.state,
    })
    expect(query['nonce']).toMatch(/^[\w-]{43}$/)
    for (const redirect of ['https://evil.example/', `${REDIRECT}/`, `${REDIRECT}?x`, 'javascript:alert(1)'])
      expect(await outcome(at.oidc.authorize({ ...secrets(), redirect_uri: redirect }))).toBe('validation_error')
  })

  test('may name the discovery document in place of the issuer', async () => {
    expect(await loginWith({ discovery_url: `${idp.url}/.well-known/openid-configuration` })).toBe('ok')
    expect(await at.oidc.testDiscovery(`${idp.url}/.well-known/openid-configuration`)).toEqual({
      ok: true,
      issuer: idp.url,
      auth_ep: `${idp.url}/auth`,
      token_ep: `${idp.url}/token`,
      jwks_uri: `${idp.url}/jwks`,
    })
  })

  test('with a wrong secret, and a provider that is away, end in upstream_error', async () => {
    expect(await loginWith({ client_secret: 'wrong' })).toBe('upstream_error')
    const gone = await startIssuer()
    await gone.close()
    expect(await loginWith({ discovery_url: gone.url })).toBe('upstream_error')
    expect(await outcome(at.oidc.testDiscovery(gone.url))).toBe('upstream_error')
    expect(await outcome(at.oidc.testDiscovery('file:///etc/passwd'))).toBe('validation_error')
  })

  test('lead to no inner address', async () => {
    const guarded = await createAccounts(database.db, { settings: settingsWith({}), privateProviders: false })
    expect(await outcome(guarded.oidc.authorize(secrets()))).toBe('forbidden_target')
    for (const url of [
      idp.url,
      'http://169.254.169.254/',
      'http://[::1]:1/',
      'http://localhost:1/',
      'http://2130706433/',
    ])
      expect(await outcome(guarded.oidc.testDiscovery(url))).toBe('forbidden_target')
    await guarded.close()
  })
})

describe('a provider that lies', () => {
  let liar: Issuer
  beforeAll(async () => void (liar = await startIssuer()))
  afterAll(() => liar.close())
  beforeEach(() => {
    liar.document = {}
    liar.keysStatus = 200
  })

  /** Logs in with an ID token that differs from a right one as the test says. */
  async function loginWithToken(change: (right: Record<string, unknown>) => Promise<string>) {
    const other = await accountsWith({ discovery_url: liar.url, claim_username: 'login' })
    const { code_verifier, code_challenge, state } = secrets()
    const { authorization_url } = await other.oidc.authorize({ code_challenge, state })
    const now = Math.floor(Date.now() / 1000)
    const nonce = new URL(authorization_url).searchParams.get('nonce')
    const right = { iss: liar.url, sub: 's', aud: CLIENT.id, iat: now, exp: now + 60, nonce, login: 'liar' }
    liar.answerCode = async (body) => {
      expect(body.get('code_verifier')).toBe(code_verifier)
      return change(right)
    }
    const result = await outcome(other.oidc.callback({ code: 'c', state, code_verifier }, ORIGIN))
    await other.close()
    return result
  }

  test('is believed when it tells the truth', async () => {
    expect(await loginWithToken((right) => liar.sign(right))).toBe('ok')
  })

  test.each<[string, object]>([
    ['another nonce', { nonce: 'n' }],
    ['no nonce', { nonce: undefined }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'someone-else' }],
    ['several audiences, the other one authorized', { aud: [CLIENT.id, 'other'], azp: 'other' }],
    ['an end in the past', { exp: Math.floor(Date.now() / 1000) - 3600 }],
    ['no subject', { sub: undefined }],
    ['issued to another client', { azp: 'other' }],
    ['issued in the future', { iat: Math.floor(Date.now() / 1000) + 600 }],
    ['NUL in the user name', { login: 'li\0ar' }],
    ['NUL in the subject', { sub: 's\0' }],
    ['half a surrogate pair in an address', { email: '\ud800@example.org' }],
    ['NUL in a claim that nobody asked for', { groups: [{ name: 'a\0' }] }],
  ])('has its ID token refused: %s', async (_what, more) => {
    expect(await loginWithToken((right) => liar.sign({ ...right, ...more }))).toBe('unauthorized')
    expect(await users()).toEqual([])
  })

  test('has its ID token refused: signed by another, with the client secret, or not at all', async () => {
    const stranger = await startIssuer()
    expect(await loginWithToken((right) => stranger.sign(right, { kid: 'key-1' }))).toBe('unauthorized')
    await stranger.close()
    const shared = { alg: 'HS256', key: new TextEncoder().encode(CLIENT.secret) }
    expect(await loginWithToken((right) => liar.sign(right, shared))).not.toBe('ok')
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    expect(await loginWithToken(async (right) => `${part({ alg: 'none' })}.${part(right)}.`)).not.toBe('ok')
    expect(await users()).toEqual([])
  })

  test('may not speak for another issuer, nor lead to an inner address', async () => {
    liar.document = { issuer: idp.url }
    expect(await outcome(at.oidc.testDiscovery(liar.url))).toBe('upstream_error')
    liar.document = { token_endpoint: 'http://169.254.169.254/token' }
    expect(await loginWithToken((right) => liar.sign(right))).toBe('forbidden_target')
  })

  test('may not send more than it should, nor a document that is none', async () => {
    liar.document = { filler: 'x'.repeat(1024 * 1024) }
    expect(await outcome(at.oidc.testDiscovery(liar.url))).toBe('upstream_error')
    liar.document = { token_endpoint: 7 }
    expect(await outcome(at.oidc.testDiscovery(liar.url))).toBe('upstream_error')
  })
})
