// What a credential may do over HTTP after its owner changed, and how logins are counted by client.
import { decodeJwt, SignJWT } from 'jose'
import { afterAll, describe, expect, test } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { PASSWORD, startGate } from './harness.ts'

const JWT_SECRET = 'Zk4Rt8Qw2Ny6Lp0Xb3Vm7Hc9Jd5Fg1Sa'
const gate = await startGate({
  env: { TRUSTED_PROXIES: '127.0.0.1', JWT_SECRET_KEY: JWT_SECRET, RATE_LIMIT_FACTOR: '1' },
})
afterAll(() => gate.close())

describe('the admin token of an admin who becomes a reader', () => {
  test('manages no users and cannot promote its owner again', async () => {
    const eve = { username: 'eve', password: PASSWORD, role: 'admin' }
    expect((await gate.call('POST', '/auth/users', { body: eve })).status).toBe(201)
    const session = await gate.login('eve')
    const made = await gate.call<{ token: string }>('POST', '/auth/api-tokens', {
      as: session,
      body: { name: 'kept', role: 'admin' },
    })
    const as = made.body.token
    expect((await gate.call('GET', '/auth/users', { as })).status).toBe(200)
    const own = { as, body: { role: 'reader' } }
    expect((await gate.call('PATCH', '/auth/users/eve', own)).body['code']).toBe('self_role_change')
    expect((await gate.call('DELETE', '/auth/users/eve', { as })).body['code']).toBe('self_delete')

    expect((await gate.call('PATCH', '/auth/users/eve', { body: { role: 'reader' } })).status).toBe(200)
    expect((await gate.call('GET', '/auth/me', { as })).body).toMatchObject({ role: 'reader' })
    const refused = [
      await gate.call('GET', '/auth/users', { as }),
      await gate.call('PATCH', '/auth/users/eve', { as, body: { role: 'admin' } }),
      await gate.call('POST', '/auth/api-tokens', { as, body: { name: 'more', role: 'admin' } }),
      await gate.call('PATCH', '/settings', { as, body: { security: { forbid_self_approval: true } } }),
      await gate.call('GET', '/artifacts/audit/logs', { as }),
    ]
    expect(refused.map(({ status, body }) => [status, body['code']])).toEqual(Array(5).fill([403, 'forbidden']))
    expect((await gate.call('GET', '/artifacts/', { as })).status).toBe(200)
  })
})

test('a scope that names no distribution is refused with the one that was meant', async () => {
  const body = { name: 'typo', role: 'uploader', scopes: { distributions: ['jammy', 'bookwrm'] } }
  expect(await gate.call('POST', '/auth/api-tokens', { body })).toMatchObject({
    status: 400,
    body: { code: 'unknown_distribution', detail: expect.stringContaining('did you mean bookworm?') },
  })
})

test('a token with scopes uploads and deletes what they name, and nothing else', async () => {
  const scopes = { actions: ['upload', 'delete', 'manage'], distributions: ['jammy'], names: ['own-*'] }
  const made = await gate.call<{ token: string; token_id: string }>('POST', '/auth/api-tokens', {
    body: { name: 'narrow', role: 'admin', scopes },
  })
  expect(made.body).toMatchObject({ scopes })
  const as = made.body.token
  expect((await gate.call('GET', '/auth/me', { as })).body).toMatchObject({ username: 'token:narrow', scopes })
  const listed = await gate.call<{ tokens: { name: string; scopes: unknown }[] }>('GET', '/auth/api-tokens')
  const scopesOf = (name: string) => listed.body.tokens.find((token) => token.name === name)?.scopes
  expect([scopesOf('narrow'), scopesOf('reader-robot')]).toEqual([scopes, null])

  const put = async (name: string, distribution: string) =>
    (await gate.upload(await buildDeb({ name }), { distribution }, { as })).body['detail'] ?? 'ok'
  expect(await put('own-tool', 'jammy')).toBe('ok')
  expect(await put('own-tool', 'noble')).toContain('its scopes allow the distributions jammy, and this is noble')
  expect(await put('other-tool', 'jammy')).toContain('its scopes allow the names own-*, and this is other-tool')
  const refused: [string, string, object?][] = [
    ['DELETE', '/artifacts/own-tool'],
    ['DELETE', '/artifacts/other-tool?distribution=jammy'],
    ['GET', '/artifacts/'],
    ['GET', '/settings/'],
    ['PATCH', '/settings/', {}],
    ['POST', '/auth/users', { username: 'wider', password: PASSWORD, role: 'admin' }],
    ['POST', '/auth/api-tokens', { name: 'wider', role: 'admin' }],
  ]
  for (const [method, path, body] of refused) {
    const reply = await gate.call(method, path, { as, body })
    expect([path, reply.status, reply.body['code']]).toEqual([path, 403, 'forbidden'])
  }
  expect((await gate.call('DELETE', '/artifacts/own-tool?distribution=jammy', { as })).status).toBe(200)

  // A token that manages creates tokens only within its own scopes.
  const managing = { name: 'managing', role: 'admin', scopes: { actions: ['manage', 'upload'] } }
  const maker = await gate.call<{ token: string }>('POST', '/auth/api-tokens', { body: managing })
  const make = async (given?: object) => {
    const body = { name: `made-${JSON.stringify(given)}`, role: 'admin', ...(given ? { scopes: given } : {}) }
    return (await gate.call('POST', '/auth/api-tokens', { as: maker.body.token, body })).status
  }
  expect([await make(), await make({ names: ['a'] }), await make({ actions: ['delete'] })]).toEqual([403, 403, 403])
  expect(await make({ actions: ['upload'], names: ['a'] })).toBe(201)
  expect([await make({}), await make({ actions: [] }), await make({ action: ['upload'] })]).toEqual([400, 400, 400])
})

test('a correctly signed session with a string that no database stores answers 401', async () => {
  const session = await gate.login('admin-person')
  const sign = (claims: object) =>
    new SignJWT({ ...decodeJwt(session), ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(JWT_SECRET))
  expect((await gate.call('GET', '/auth/me', { as: await sign({}) })).status).toBe(200)
  for (const claims of [{ jti: 'a\0b' }, { sub: 'admin\0' }, { sub: '\ud800' }, { jti: '' }]) {
    const reply = await gate.call('GET', '/auth/me', { as: await sign(claims) })
    expect([reply.status, reply.body['code']]).toEqual([401, 'unauthorized'])
  }
})

test.each([
  ['addresses of one IPv6 network', (i: number) => `2001:db8:7:7::${i}`],
  ['spellings of one IPv4 address', (i: number) => (i % 2 ? '198.51.100.4' : '::ffff:198.51.100.4')],
  ['strings that are not addresses', (i: number) => `garbage-${i}`],
])('logins from %s count as one client', async (_what, address) => {
  gate.clock.advance(61_000)
  const statuses: number[] = []
  for (let i = 1; i <= 14; i++) {
    const options = {
      as: null,
      body: { username: `nobody-${i}`, password: 'x' },
      headers: { 'x-forwarded-for': address(i) },
    }
    statuses.push((await gate.call('POST', '/auth/token', options)).status)
  }
  expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401))
  expect(statuses.slice(10)).toEqual(Array(4).fill(429))
})
