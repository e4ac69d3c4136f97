// Logins, sessions, API tokens and the rights of a request's credential.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as bcrypt from '@node-rs/bcrypt'
import { decodeJwt, SignJWT } from 'jose'
import { createTestDatabase } from '../../test/database.ts'
import type { Caller } from '../domain/caller.ts'
import type { Database } from '../store/db.ts'
import { createAuthenticate } from './authenticate.ts'
import {
  DEFAULTS,
  createAccounts,
  GOOD,
  JWT_SECRET,
  ORIGIN,
  otherProcess,
  OTHER,
  outcome,
  outcomes,
  ROOT,
  type Accounts,
} from './fixture.ts'

let database: Database & { url: string }
let at: Accounts
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => database.close())
beforeEach(async () => {
  at = await createAccounts(database.db)
  await database.db.deleteFrom('users').execute()
  await database.db.deleteFrom('api_tokens').execute()
  await at.users.create(
    ROOT,
    { username: 'Ada', password: GOOD, role: 'admin', full_name: 'Ada L.', email: 'ada@example.org' },
    ORIGIN,
  )
  await at.users.create(ROOT, { username: 'ben', password: GOOD, role: 'reader' }, ORIGIN)
  await at.audited()
  return () => at.close()
})

const login = (username: string, password = GOOD, ip = ORIGIN.ip) =>
  at.login({ username, password }, { ip, requestId: null })
const bearer = (token: string) => at.authenticate(`Bearer ${token}`)

describe('login', () => {
  test('returns a token that names the user, and is audited', async () => {
    const answer = await login('ada')
    expect(answer).toMatchObject({ token_type: 'bearer', expires_in: 3600, mfa_required: false })
    const claims = decodeJwt(answer.access_token)
    expect(claims).toEqual({
      sub: 'Ada',
      role: 'admin',
      full_name: 'Ada L.',
      iss: 'gatehouse',
      typ: 'access',
      iat: 1772366400,
      exp: 1772370000,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect((await at.users.list()).users[0]).toMatchObject({
      username: 'Ada',
      last_login: '2026-03-01T12:00:00.000+00:00',
    })
    expect(await at.audited()).toMatchObject([{ action: 'LOGIN', result: 'SUCCESS', user: 'Ada', ip: ORIGIN.ip }])
  })

  test('fails with the same sentence for every reason; the audit log records the reason', async () => {
    await at.users.create(ROOT, { username: 'off', password: GOOD, role: 'reader' }, ORIGIN)
    await at.users.update(ROOT, 'off', { active: false }, ORIGIN)
    await at.users.create(ROOT, { username: 'far', password: GOOD, role: 'reader' }, ORIGIN)
    await database.db.updateTable('users').set({ auth_source: 'ldap' }).where('username', '=', 'far').execute()
    await at.audited()
    const tries: [string, string, string | null, string][] = [
      ['Ada', 'Wrong-1!', 'Ada', 'wrong password'],
      ['nobody', GOOD, 'nobody', 'unknown user'],
      ['off', GOOD, 'off', 'account disabled'],
      ['far', GOOD, 'far', 'no local password'],
      ['', '', null, 'unknown user'],
      ['Ada\0', GOOD, 'Ada?', 'unknown user'],
      ["' or 1=1 --\n", GOOD, "' or 1=1 --?", 'unknown user'],
    ]
    const texts = new Set<string>()
    for (const [name, password] of tries) {
      await login(name, password).catch((error: Error) => texts.add(error.message))
    }
    expect([...texts]).toEqual(['unauthorized: the user name or the password is wrong'])
    expect(await at.audited()).toMatchObject(
      tries.map(([, , user, detail]) => ({ action: 'LOGIN', result: 'FAILURE', user, detail })),
    )
  })

  test('checks the stored hash only for accounts that may log in', async () => {
    await at.users.update(ROOT, 'ben', { active: false }, ORIGIN)
    const checked: (string | null)[] = []
    const check: typeof at.passwords.check = (password, stored, cost) => {
      checked.push(stored)
      return at.passwords.check(password, stored, cost)
    }
    const watched = await createAccounts(database.db, { passwords: { ...at.passwords, check } })
    for (const username of ['Ada', 'ben', 'nobody', '?']) {
      await outcome(watched.login({ username, password: GOOD }, ORIGIN))
    }
    expect(checked).toEqual([expect.stringContaining('$argon2id$'), null, null, null])
    await watched.close()
  })

  test('runs the same queries for a disabled account as for an unknown name', async () => {
    await at.users.update(ROOT, 'ben', { active: false }, ORIGIN)
    const asked: Record<string, string[]> = {}
    for (const username of ['ben', 'nobody']) {
      const queries: string[] = (asked[username] = [])
      const watched = await createAccounts(
        database.db.withPlugin({
          transformQuery: ({ node }) => (queries.push(node.kind), node),
          transformResult: async ({ result }) => result,
        }),
      )
      await outcome(watched.login({ username, password: GOOD }, ORIGIN))
      await watched.close()
    }
    expect(asked['ben']).toEqual(asked['nobody'])
  })

  test.each([
    ['addresses of one IPv6 network', '2001:db8:1:2::1', '2001:db8:1:2:ffff::9', [500]],
    ['addresses of two IPv6 networks', '2001:db8:1:2::1', '2001:db8:1:3::1', []],
  ])('slows down %s together or apart', async (_what, first, second, waits) => {
    for (let i = 0; i < 5; i++) await outcome(login('Ada', 'Wrong-1!', first))
    await outcome(login('Ada', 'Wrong-1!', second))
    expect(at.waits).toEqual(waits)
  })

  test('is delayed for the account and address that failed, and for no other', async () => {
    for (let i = 0; i < 7; i++) await outcome(login('Ada', 'Wrong-1!', '198.51.100.1'))
    expect(at.waits).toEqual([500, 1000])
    await login('ben', GOOD, '198.51.100.1')
    await login('Ada', GOOD, '198.51.100.2')
    expect(at.waits).toHaveLength(2)
    await login('ADA', GOOD, '198.51.100.1')
    expect(at.waits).toEqual([500, 1000, 2000])
    await login('Ada', GOOD, '198.51.100.1')
    expect(at.waits).toHaveLength(3)
  })

  test('replaces an imported hash, also with parallel logins', async () => {
    const password_hash = (await bcrypt.hash(GOOD, 5)).replace('$2b$', () => '$2y$')
    await database.db.updateTable('users').set({ password_hash }).where('username', '=', 'ben').execute()
    expect(await outcomes(Array.from({ length: 5 }, () => login('ben')))).toEqual(Array(5).fill('ok'))
    const row = await database.db
      .selectFrom('users')
      .select('password_hash')
      .where('username', '=', 'ben')
      .executeTakeFirstOrThrow()
    expect(row.password_hash).toMatch(/^\$argon2id\$/)
    expect(await outcome(login('ben'))).toBe('ok')
    expect(await outcome(login('ben', OTHER))).toBe('unauthorized')
  })

  test('with the old password opens no session once a new one is set, also when both run in parallel', async () => {
    for (let round = 0; round < 5; round++) {
      const old = round % 2 ? OTHER : GOOD
      const results = await Promise.allSettled([
        ...Array.from({ length: 3 }, () => login('ben', old)),
        at.users.resetPassword(ROOT, 'ben', old === GOOD ? OTHER : GOOD, ORIGIN),
      ])
      expect(results[3]?.status).toBe('fulfilled')
      expect(await database.db.selectFrom('sessions').selectAll().execute()).toEqual([])
    }
  })

  test('removes expired sessions', async () => {
    await login('ben')
    at.pass(3_600_001)
    await login('Ada')
    expect(await database.db.selectFrom('sessions').selectAll().execute()).toHaveLength(1)
  })
})

describe('a session', () => {
  test('has the present role of its user', async () => {
    const { access_token } = await login('ben')
    expect(await bearer(access_token)).toMatchObject({
      kind: 'session',
      name: 'ben',
      role: 'reader',
      principal: expect.stringMatching(/^user:\d+$/),
    })
    await at.users.update(ROOT, 'ben', { role: 'auditor' }, ORIGIN)
    expect(await bearer(access_token)).toMatchObject({ role: 'auditor' })
  })

  test('is refused while its owner is disabled, works again after reactivation, and ends with the account', async () => {
    const { access_token } = await login('ben')
    await at.users.update(ROOT, 'ben', { active: false }, ORIGIN)
    expect(await outcome(bearer(access_token))).toBe('unauthorized')
    await at.users.update(ROOT, 'ben', { active: true }, ORIGIN)
    expect(await outcome(bearer(access_token))).toBe('ok')
    await at.users.remove(ROOT, 'ben', ORIGIN)
    await at.users.create(ROOT, { username: 'ben', password: GOOD, role: 'admin' }, ORIGIN)
    expect(await outcome(bearer(access_token))).toBe('unauthorized')
  })

  test('ends by logout, by expiry, and when its row is deleted', async () => {
    const caller = await at.signIn('ben')
    const other = await login('ben')
    await at.audited()
    expect(await at.sessions.end(caller, ORIGIN)).toEqual({ status: 'logged_out' })
    expect(await at.audited()).toMatchObject([{ action: 'LOGOUT', user: 'ben' }])
    expect(await outcome(at.sessions.refresh(caller))).toBe('unauthorized')
    expect(await outcome(bearer(other.access_token))).toBe('ok')
    at.pass(3_600_000)
    expect(await outcome(bearer(other.access_token))).toBe('unauthorized')
  })

  test('can be refreshed until twelve hours after the login; each refresh ends the previous token', async () => {
    let token = (await login('ben')).access_token
    for (let hours = 0; hours < 12; hours += 0.5) {
      const caller = await bearer(token)
      const next = (await at.sessions.refresh(caller)).access_token
      expect(await outcome(bearer(token))).toBe('unauthorized')
      expect(await outcome(at.sessions.refresh(caller))).toBe('unauthorized')
      token = next
      at.pass(1_800_000)
    }
    const caller = await bearer(token)
    await expect(at.sessions.refresh(caller)).rejects.toMatchObject({ code: 'unauthorized' })
  })

  test('refreshed twice in parallel becomes one session', async () => {
    const caller = await at.signIn('ben')
    expect((await outcomes([at.sessions.refresh(caller), at.sessions.refresh(caller)])).sort()).toEqual([
      'ok',
      'unauthorized',
    ])
  })

  test.each([
    ['no header', async () => undefined],
    ['another scheme', async (jwt: string) => `Basic ${jwt}`],
    ['two credentials', async (jwt: string) => `Bearer ${jwt} ${jwt}`],
    ['nothing after the scheme', async () => 'Bearer '],
    [
      'an altered signature',
      async (jwt: string) => `Bearer ${jwt.slice(0, -5)}${jwt.at(-5) === 'A' ? 'B' : 'A'}${jwt.slice(-4)}`,
    ],
    [
      'alg none',
      async (jwt: string) => `Bearer ${btoa('{"alg":"none"}').replace(/=+$/, '')}.${jwt.split('.')[1] ?? ''}.`,
    ],
    ['another algorithm with the same secret', (jwt: string) => forged(jwt, {}, 'HS512')],
    ['another typ', (jwt: string) => forged(jwt, { typ: 'mfa' })],
    ['no typ', (jwt: string) => forged(jwt, { typ: undefined })],
    ['another issuer', (jwt: string) => forged(jwt, { iss: 'elsewhere' })],
    ['no expiry', (jwt: string) => forged(jwt, { exp: undefined })],
    ['another subject', (jwt: string) => forged(jwt, { sub: 'Ada' })],
    ['a NUL in the jti', (jwt: string) => forged(jwt, { jti: 'a\0b' })],
    ['a NUL in the subject', (jwt: string) => forged(jwt, { sub: 'ben\0' })],
    ['half a character in the subject', (jwt: string) => forged(jwt, { sub: 'ben\ud800' })],
    ['a jti that is a number', (jwt: string) => forged(jwt, { jti: 7 })],
    ['a jti that is a list', (jwt: string) => forged(jwt, { jti: [decodeJwt(jwt).jti] as never })],
    ['a subject that is a list', (jwt: string) => forged(jwt, { sub: ['ben'] as never })],
    ['another secret', (jwt: string) => forged(jwt, {}, 'HS256', 'a different secret of the same kind')],
    ['a token too long to be ours', (jwt: string) => forged(jwt, { filler: 'x'.repeat(5000) })],
    ['a NUL', async () => 'Bearer a.b\0.c'],
  ])('is not accepted with %s', async (_what, header: (jwt: string) => Promise<string | undefined>) => {
    const { access_token } = await login('ben')
    expect(await outcome(bearer(await forged(access_token, {}).then((h) => h.slice(7))))).toBe('ok')
    expect(await outcome(at.authenticate(await header(access_token)))).toBe('unauthorized')
  })

  /** The header with a token of the same claims, changed, signed anew. */
  async function forged(
    jwt: string,
    claims: Record<string, unknown>,
    alg = 'HS256',
    secret = JWT_SECRET,
  ): Promise<string> {
    const token = await new SignJWT({ ...decodeJwt(jwt), ...claims })
      .setProtectedHeader({ alg })
      .sign(new TextEncoder().encode(secret))
    return `Bearer ${token}`
  }

  test.each(['HS384', 'HS512'] as const)('may be signed with %s', async (algorithm) => {
    const other = await createAccounts(database.db, { algorithm })
    const { access_token } = await other.login({ username: 'ben', password: GOOD }, ORIGIN)
    expect(await outcome(other.authenticate(`bearer  ${access_token}`))).toBe('ok')
    expect(await outcome(bearer(access_token))).toBe('unauthorized')
    await other.close()
  })
})

test('a request is authenticated with one query, by session or by token', async () => {
  let queries = 0
  const counted = database.db.withPlugin({
    transformQuery: ({ node }) => (queries++, node),
    transformResult: async ({ result }) => result,
  })
  const clock = { now: () => new Date('2026-03-01T12:00:00Z') }
  const authenticate = createAuthenticate({
    db: counted,
    clock,
    sessions: at.sessions,
    settings: () => DEFAULTS,
    publishers: () => [],
  })
  const { access_token } = await login('ben')
  await authenticate(`Bearer ${access_token}`)
  expect(queries).toBe(1)
  const { token } = await at.tokens.create(await at.signIn('Ada'), { name: 'ci' }, ORIGIN)
  await authenticate(`Bearer ${token}`)
  expect(queries).toBe(2)
  await outcome(authenticate('Bearer svc_short'))
  expect(queries).toBe(2)
})

describe('an API token', () => {
  test('is shown once, stored as a hash, and acts under its own name and role', async () => {
    const ada = await at.signIn('Ada')
    await at.audited()
    const made = await at.tokens.create(ada, { name: ' ci ', expires_days: 30 }, ORIGIN)
    expect(made).toMatchObject({
      prefix: 'svc_',
      name: 'ci',
      role: 'uploader',
      expires_at: '2026-03-31T12:00:00.000+00:00',
    })
    expect(made.token).toMatch(/^svc_[A-Za-z0-9_-]{43}$/)
    expect(await bearer(made.token)).toEqual({
      kind: 'token',
      name: 'token:ci',
      role: 'uploader',
      ownerRole: 'admin',
      ownerId: ada.ownerId,
      credentialId: made.token_id,
      principal: `token:${made.token_id}`,
      scopes: null,
    })
    const everything = JSON.stringify([
      await database.db.selectFrom('api_tokens').selectAll().execute(),
      await at.tokens.list(),
    ])
    expect(everything).not.toContain(made.token.slice(4, -4))
    expect((await at.tokens.list()).tokens).toEqual([
      {
        id: made.token_id,
        token_id: made.token_id,
        name: 'ci',
        role: 'uploader',
        acts_as: 'uploader',
        created_by: 'Ada',
        creator_active: true,
        created_at: '2026-03-01T12:00:00.000+00:00',
        last_used: '2026-03-01T12:00:00.000+00:00',
        expires_at: made.expires_at,
        publisher: null,
        scopes: null,
        active: true,
        token_hint: made.token.slice(-4),
      },
    ])
    expect(await at.audited()).toMatchObject([
      { action: 'TOKEN_CREATE', user: 'Ada', extra: { name: 'ci', role: 'uploader' } },
    ])
    const ci = await bearer(made.token)
    expect(await outcomes([at.sessions.refresh(ci), at.sessions.end(ci, ORIGIN)])).toEqual([
      'session_required',
      'session_required',
    ])
  })

  test('updates last_used at most once a minute', async () => {
    const { token } = await at.tokens.create(await at.signIn('Ada'), { name: 'ci' }, ORIGIN)
    const lastUsed = async () => (await at.tokens.list()).tokens[0]?.last_used?.slice(11, 19) ?? null
    expect(await lastUsed()).toBeNull()
    await bearer(token)
    expect(await lastUsed()).toBe('12:00:00')
    at.pass(59_000)
    await bearer(token)
    expect(await lastUsed()).toBe('12:00:00')
    at.pass(1_000)
    await Promise.all(Array.from({ length: 5 }, () => bearer(token)))
    expect(await lastUsed()).toBe('12:01:00')
  })

  test('is refused immediately after revocation, and after its expiry', async () => {
    const ada = await at.signIn('Ada')
    const brief = await at.tokens.create(ada, { name: 'brief', expires_days: 1 }, ORIGIN)
    const made = await at.tokens.create(ada, { name: 'ci', role: 'reader' }, ORIGIN)
    await at.audited()
    expect(await at.tokens.revoke(ada, made.token_id, ORIGIN)).toEqual({ status: 'revoked', token_id: made.token_id })
    expect(await at.audited()).toMatchObject([{ action: 'TOKEN_REVOKE', user: 'Ada' }])
    expect(await outcome(bearer(made.token))).toBe('unauthorized')
    expect(
      await outcomes([at.tokens.revoke(ada, made.token_id, ORIGIN), at.tokens.revoke(ada, 'none', ORIGIN)]),
    ).toEqual(['not_found', 'not_found'])
    at.pass(86_400_000 - 1)
    expect(await outcome(bearer(brief.token))).toBe('ok')
    at.pass(1)
    expect(await outcome(bearer(brief.token))).toBe('unauthorized')
    expect((await at.tokens.list()).tokens.map((t) => t.active)).toEqual([false, false])
  })

  test('is refused with its owner, also when it was created by another token', async () => {
    await at.users.create(ROOT, { username: 'eve', password: GOOD, role: 'admin' }, ORIGIN)
    const eve = await at.signIn('eve')
    const first = await at.tokens.create(eve, { name: 'first', role: 'admin' }, ORIGIN)
    const second = await at.tokens.create(await bearer(first.token), { name: 'second' }, ORIGIN)
    expect(await bearer(second.token)).toMatchObject({ name: 'token:second' })
    await at.users.update(ROOT, 'eve', { active: false }, ORIGIN)
    expect(await outcomes([bearer(first.token), bearer(second.token)])).toEqual(['unauthorized', 'unauthorized'])
    expect((await at.tokens.list()).tokens).toMatchObject([
      { active: true, creator_active: false },
      { active: true, creator_active: false },
    ])
    await at.users.update(ROOT, 'eve', { active: true }, ORIGIN)
    expect(await outcomes([bearer(first.token), bearer(second.token)])).toEqual(['ok', 'ok'])
    await at.audited()
    await at.users.remove(ROOT, 'eve', ORIGIN)
    const [entry] = await at.audited()
    expect(entry?.action).toBe('USER_DELETE')
    expect((entry?.extra['revoked_tokens'] as string[]).sort()).toEqual(['first', 'second'])
    expect(await outcomes([bearer(first.token), bearer(second.token)])).toEqual(['unauthorized', 'unauthorized'])
    expect((await at.tokens.list()).tokens).toMatchObject([{ active: false }, { active: false }])
  })

  test.each([
    ['admin', 'admin', 'admin'],
    ['admin', 'maintainer', 'maintainer'],
    ['admin', 'reader', 'reader'],
    ['maintainer', 'uploader', 'uploader'],
    ['uploader', 'admin', 'uploader'],
    ['uploader', 'auditor', 'reader'],
    ['auditor', 'uploader', 'reader'],
    ['reader', 'admin', 'reader'],
  ] as const)('created as %s acts, once its owner is %s, as %s', async (role, ownerRole, effective) => {
    await at.users.create(ROOT, { username: 'eve', password: GOOD, role: 'admin' }, ORIGIN)
    const { token } = await at.tokens.create(await at.signIn('eve'), { name: 'ci', role }, ORIGIN)
    expect((await bearer(token)).role).toBe(role)
    await at.users.update(ROOT, 'eve', { role: ownerRole }, ORIGIN)
    expect((await bearer(token)).role).toBe(effective)
  })

  test('that a token made ends with that token, and no later', async () => {
    const eve = await at.users
      .create(ROOT, { username: 'eve', password: GOOD, role: 'admin' }, ORIGIN)
      .then(() => at.signIn('eve'))
    const make = (by: Caller, name: string, expires_days?: number) =>
      at.tokens.create(by, { name, role: 'admin', ...(expires_days === undefined ? {} : { expires_days }) }, ORIGIN)
    const brief = await make(eve, 'brief', 2)
    const heir = await make(await bearer(brief.token), 'heir')
    const longer = await make(await bearer(heir.token), 'longer', 30)
    const shorter = await make(await bearer(heir.token), 'shorter', 1)
    expect([heir.expires_at, longer.expires_at]).toEqual([brief.expires_at, brief.expires_at])
    expect(Date.parse(shorter.expires_at ?? '')).toBeLessThan(Date.parse(brief.expires_at ?? ''))
    const other = await make(eve, 'other')
    const revoking = await bearer(heir.token)
    await at.audited()
    await at.tokens.revoke(eve, brief.token_id, ORIGIN)
    for (const { token } of [brief, heir, longer, shorter]) expect(await outcome(bearer(token))).toBe('unauthorized')
    expect(await outcome(bearer(other.token))).toBe('ok')
    // A request that was admitted before comes too late.
    expect(await outcome(make(revoking, 'late'))).toBe('unauthorized')
    expect((await at.audited()).map(({ detail }) => detail).sort()).toEqual(
      ['brief', 'heir', 'longer', 'shorter'].map((name) => `token ${name} revoked`),
    )
  })

  test('has a name that is unique among live tokens', async () => {
    const ada = await at.signIn('Ada')
    const create = (name = 'ci') => at.tokens.create(ada, { name, expires_days: 1 }, ORIGIN)
    const { token_id } = await create()
    expect(await outcome(create())).toBe('already_exists')
    await at.tokens.revoke(ada, token_id, ORIGIN)
    expect(await outcome(create())).toBe('ok')
    at.pass(86_400_000)
    const other = await otherProcess(database)
    const second = await createAccounts(other.db)
    second.pass(86_400_000)
    const race = Array.from({ length: 6 }, (_, i) => (i % 2 ? at : second).tokens.create(ada, { name: 'ci' }, ORIGIN))
    expect((await outcomes(race)).sort()).toEqual([...Array<string>(5).fill('already_exists'), 'ok'])
    await second.close()
    await other.close()
  })

  test.each([
    [{ name: '' }, 'validation_error'],
    [{ name: '  ' }, 'validation_error'],
    [{ name: 'a\nb' }, 'validation_error'],
    [{ name: 'x'.repeat(101) }, 'validation_error'],
    [{ name: 'ci', role: 'root' }, 'invalid_role'],
    [{ name: 'ci', expires_days: 0 }, 'validation_error'],
    [{ name: 'ci', expires_days: 1.5 }, 'validation_error'],
    [{ name: 'ci', expires_days: 3651 }, 'validation_error'],
  ])('wanted as %j is refused: %s', async (wanted, code) => {
    expect(await outcome(at.tokens.create(await at.signIn('Ada'), wanted, ORIGIN))).toBe(code)
  })
})
