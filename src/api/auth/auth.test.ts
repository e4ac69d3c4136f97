// Calls the handlers of `/auth` and `/setup` as the server does and checks bodies and answers against their schemas.
import { EventEmitter } from 'node:events'
import { Secret, TOTP } from 'otpauth'
import Value from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createAccounts, GOOD, ORIGIN, OTHER, outcome, ROOT, type Accounts } from '../../accounts/fixture.ts'
import type { Caller } from '../../domain/caller.ts'
import type { Database } from '../../store/db.ts'
import { authRoutes } from './auth.ts'
import type { Route } from '../http/route.ts'
import { setupRoutes } from '../setup/setup.ts'

let database: Database
let at: Accounts
let routes: Route[]
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => database.close())
beforeEach(async () => {
  at = await createAccounts(database.db)
  routes = [...authRoutes({ ...at, distributions: [], isRepository: async () => false }), ...setupRoutes(at)]
  await database.db.deleteFrom('users').execute()
  return () => at.close()
})

const find = (name: string): Route => {
  const found = routes.find((route) => `${route.method} ${route.path}` === name)
  if (!found) throw new Error(`no route ${name}`)
  return found
}

/** Checks the input, calls the handler and checks the answer. */
async function call(
  name: string,
  given: { caller?: Caller | null; params?: object; body?: object; headers?: object } = {},
) {
  const route = find(name)
  if (route.params) expect([...Value.Errors(route.params, given.params)]).toEqual([])
  if (route.body) expect([...Value.Errors(route.body, given.body)]).toEqual([])
  const input = {
    params: given.params ?? {},
    query: {},
    body: given.body,
    caller: given.caller ?? null,
    origin: ORIGIN,
    raw: { headers: given.headers ?? {} },
    reply: { raw: new EventEmitter() },
  }
  const answer = await route.handle(input as never)
  expect([...Value.Errors(route.answer ?? {}, answer)]).toEqual([])
  return answer as Record<string, unknown>
}

test('every endpoint answers as its schema declares, from setup to the deletion of a user', async () => {
  await call('GET /setup/status')
  await call('GET /setup/preflight')
  const first = { admin_username: 'ada', admin_password: GOOD, app_url: 'https://gate.example.org' }
  await call('POST /setup', { body: first, headers: { 'x-setup-token': 'unused' } })
  const login = await call('POST /auth/token', { body: { username: 'ada', password: GOOD, grant_type: 'password' } })
  let ada = await at.authenticate(`Bearer ${String(login['access_token'])}`)
  await call('GET /auth/roles')
  await call('GET /auth/me', { caller: ada })
  await call('GET /auth/me', { caller: ROOT })
  const refreshed = await call('POST /auth/refresh', { caller: ada })
  ada = await at.authenticate(`Bearer ${String(refreshed['access_token'])}`)
  await call('POST /auth/change-password', { caller: ada, body: { current_password: GOOD, new_password: OTHER } })
  await call('POST /auth/users', {
    caller: ada,
    body: { username: 'ben', password: GOOD, role: 'reader', email: 'ben@example.org' },
  })
  await call('PATCH /auth/users/{username}', {
    caller: ada,
    params: { username: 'ben' },
    body: { role: 'auditor', active: true },
  })
  await call('POST /auth/users/{username}/reset-password', {
    caller: ada,
    params: { username: 'ben' },
    body: { new_password: OTHER },
  })
  expect(await call('GET /auth/users', { caller: ada })).toMatchObject({ total: 2 })
  await call('POST /auth/forgot-password', { body: { email: 'ben@example.org' } })
  await at.passwordReset.settled()
  await call('POST /auth/reset-password', { body: { token: at.delivered[0]?.token, new_password: GOOD } })
  const { secret } = await call('POST /auth/mfa/setup', { caller: ada })
  const totp_code = TOTP.generate({ secret: Secret.fromBase32(String(secret)), timestamp: at.now() })
  const { recovery_codes } = await call('POST /auth/mfa/confirm', { caller: ada, body: { totp_code } })
  const { mfa_token } = await call('POST /auth/token', { body: { username: 'ada', password: OTHER } })
  const [one, two] = recovery_codes as string[]
  await call('POST /auth/mfa/authenticate', { body: { mfa_token, totp_code: one } })
  await call('POST /auth/mfa/recovery-codes', { caller: ada, body: { totp_code: two } })
  await call('POST /auth/mfa/disable', { caller: ada, body: { password: OTHER } })
  await call('DELETE /auth/users/{username}/mfa', { caller: ada, params: { username: 'ben' } })
  const token = await call('POST /auth/api-tokens', { caller: ada, body: { name: 'ci', expires_days: 3650 } })
  expect(await call('GET /auth/api-tokens', { caller: ada })).toMatchObject({ total: 1 })
  await call('DELETE /auth/api-tokens/{token_id}', { caller: ada, params: { token_id: token['token_id'] } })
  await call('DELETE /auth/users/{username}', { caller: ada, params: { username: 'ben' } })
  const { device_code, user_code } = await call('POST /auth/device', { body: { client: 'a program' } })
  await call('GET /auth/device/{user_code}', { caller: ada, params: { user_code } })
  await call('POST /auth/device/{user_code}', { caller: ada, params: { user_code }, body: { approve: true } })
  await call('POST /auth/device/token', { body: { device_code } })
  await call('POST /auth/logout', { caller: ada })
  expect(at.errors).toEqual([])
})

describe('access', () => {
  test.each([
    ['POST /auth/token', 'public', 'login'],
    ['POST /auth/forgot-password', 'public', 'credentials'],
    ['POST /auth/reset-password', 'public', 'credentials'],
    ['GET /auth/roles', 'public', undefined],
    ['GET /auth/me', 'reader+', undefined],
    ['POST /auth/change-password', 'reader+', undefined],
    ['POST /auth/logout', 'reader+', undefined],
    ['POST /auth/refresh', 'reader+', undefined],
    ['POST /auth/mfa/setup', 'reader+', 'credentials'],
    ['POST /auth/mfa/confirm', 'reader+', 'credentials'],
    ['POST /auth/mfa/authenticate', 'public', 'credentials'],
    ['POST /auth/mfa/disable', 'reader+', 'credentials'],
    ['POST /auth/mfa/recovery-codes', 'reader+', 'credentials'],
    ['DELETE /auth/users/{username}/mfa', 'admin', undefined],
    ['GET /auth/oidc/public-config', 'public', undefined],
    ['POST /auth/oidc/authorize', 'public', 'credentials'],
    ['POST /auth/oidc/callback', 'public', 'credentials'],
    ['POST /auth/oidc/test-discovery', 'admin', 'credentials'],
    ['POST /auth/oidc/exchange', 'public', 'credentials'],
    ['POST /auth/device', 'public', 'credentials'],
    ['POST /auth/device/token', 'public', 'reads'],
    ['GET /auth/device/{user_code}', 'reader+', 'credentials'],
    ['POST /auth/device/{user_code}', 'reader+', 'credentials'],
    ['GET /auth/users', 'admin', undefined],
    ['POST /auth/users', 'admin', undefined],
    ['PATCH /auth/users/{username}', 'admin', undefined],
    ['DELETE /auth/users/{username}', 'admin', undefined],
    ['POST /auth/users/{username}/reset-password', 'admin', undefined],
    ['GET /auth/api-tokens', 'admin', undefined],
    ['POST /auth/api-tokens', 'admin', undefined],
    ['DELETE /auth/api-tokens/{token_id}', 'admin', undefined],
    ['GET /setup/status', 'public', undefined],
    ['POST /setup', 'public', 'credentials'],
    ['GET /setup/preflight', 'public', undefined],
  ])('%s: %s, limit %s', (name, access, limit) => {
    expect(find(name)).toMatchObject({ access, ...(limit ? { limit } : {}) })
    expect(find(name).limit).toBe(limit)
  })

  test('only the own password, session, second factor and programs need a session; tokens may do everything else', () => {
    const closed = routes.filter((route) => route.flags?.sessionOnly).map((route) => route.path)
    const mfa = ['setup', 'confirm', 'disable', 'recovery-codes'].map((step) => `/auth/mfa/${step}`)
    const device = ['/auth/device/{user_code}', '/auth/device/{user_code}']
    expect(closed).toEqual(['/auth/change-password', '/auth/logout', '/auth/refresh', ...mfa, ...device])
    expect(routes).toHaveLength(36)
  })

  test('endpoints that create something answer 201, all others 200', () => {
    expect(routes.filter((route) => route.success === 201).map((route) => `${route.method} ${route.path}`)).toEqual([
      'POST /auth/oidc/exchange',
      'POST /auth/users',
      'POST /auth/api-tokens',
    ])
  })
})

test.each([
  ['POST /auth/token', { username: 'ada' }],
  ['POST /auth/token', { username: 'ada', password: 1 }],
  ['POST /auth/token', { username: 'ada', password: 'x'.repeat(1025) }],
  ['POST /auth/users', { username: 'a b', password: GOOD, role: 'reader' }],
  ['POST /auth/users', { username: 'abc', password: GOOD }],
  ['POST /auth/users', { username: 'abc', password: GOOD, role: 'reader', email: 'a@b\r\nBcc: c' }],
  ['POST /auth/users', { username: 'abc', password: GOOD, role: 'reader', full_name: 'a\0' }],
  ['PATCH /auth/users/{username}', { active: 'no' }],
  ['POST /auth/api-tokens', { name: '' }],
  ['POST /auth/api-tokens', { name: 'a', expires_days: 3651 }],
  ['POST /auth/api-tokens', { name: 'a', expires_days: null }],
  ['POST /setup', { admin_username: 'ada' }],
])('the schema of %s refuses the body %j', (name, body) => {
  expect(Value.Check(find(name).body ?? {}, body)).toBe(false)
})

test('an unknown role and a weak password have error codes of their own', async () => {
  const body = { username: 'abc', password: GOOD, role: 'root' }
  expect(await outcome(call('POST /auth/users', { caller: ROOT, body }))).toBe('invalid_role')
  expect(
    await outcome(call('POST /auth/users', { caller: ROOT, body: { ...body, role: 'reader', password: 'x' } })),
  ).toBe('weak_password')
})

test('a login is abandoned when its client disconnects during the delay', async () => {
  await at.users.create(ROOT, { username: 'ben', password: GOOD, role: 'reader' }, ORIGIN)
  for (let i = 0; i < 5; i++) await outcome(at.login({ username: 'ben', password: 'x' }, ORIGIN))
  const raw = new EventEmitter()
  const input = { body: { username: 'ben', password: GOOD }, origin: ORIGIN, reply: { raw } }
  const pending = outcome(find('POST /auth/token').handle(input as never))
  raw.emit('close')
  expect(await pending).toBe('unauthorized')
  expect(at.waits).toEqual([500])
  expect((await at.users.list()).users).toMatchObject([{ username: 'ben', last_login: null }])
})
