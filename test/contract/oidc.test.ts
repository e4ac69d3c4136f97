// Over HTTP: a person logs in at an identity provider, and a CI job publishes with the token that it got for its ID token.
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT, startIdentityProvider, type IdentityProvider } from '../fakes/identity-provider.ts'
import { startIssuer, type Issuer } from '../fakes/issuer.ts'
import { buildDeb } from '../samples/deb.ts'
import { startGate, type Gate } from './harness.ts'
import { lastAudited } from './packages/seen.ts'

let gate: Gate
let idp: IdentityProvider
let issuer: Issuer
beforeAll(async () => {
  ;[gate, idp, issuer] = await Promise.all([
    startGate({ env: { OUTBOUND_ALLOWED_HOSTS: '127.0.0.1' } }),
    startIdentityProvider(),
    startIssuer(),
  ])
})
afterAll(async () => {
  await gate.close()
  await idp.close()
  await issuer.close()
})

const AUDIENCE = 'https://gate.example.org'
const idToken = (more: object = {}) => {
  const now = Math.floor(gate.clock.now().getTime() / 1000)
  const times = { iat: now, exp: now + 300, jti: randomBytes(8).toString('hex') }
  return issuer.sign({
    iss: issuer.url,
    aud: AUDIENCE,
    sub: 'repo:acme/tools:x',
    repository: 'acme/tools',
    ...times,
    ...more,
  })
}
const exchange = (token: string) => gate.call('POST', '/auth/oidc/exchange', { as: null, body: { token } })

test('a person logs in by way of the provider', async () => {
  const visible = () => gate.call('GET', '/auth/oidc/public-config', { as: null })
  expect((await visible()).body).toEqual({ enabled: false })
  const oidc = { enabled: true, discovery_url: idp.url, client_id: CLIENT.id, client_secret: CLIENT.secret }
  const mapped = { auto_provision: true, claim_role: 'groups', role_map: { ops: 'maintainer' } }
  const scopes = 'openid email profile groups'
  expect((await gate.call('PATCH', '/settings/', { body: { oidc: { ...oidc, ...mapped, scopes } } })).status).toBe(200)
  expect((await visible()).body).toEqual({ enabled: true, provider_name: 'SSO' })
  expect(
    (await gate.call('POST', '/auth/oidc/test-discovery', { body: { discovery_url: idp.url } })).body,
  ).toMatchObject({ ok: true, issuer: idp.url })

  idp.person = 'sub-olga'
  idp.people = { 'sub-olga': { preferred_username: 'olga', email: 'olga@example.org', groups: ['ops'] } }
  const code_verifier = randomBytes(32).toString('base64url')
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  const state = randomBytes(16).toString('hex')
  const begun = await gate.call('POST', '/auth/oidc/authorize', { as: null, body: { code_challenge, state } })
  const back = await idp.visit(begun.body['authorization_url'] as string)
  const body = { ...back, code_verifier, redirect_uri: begun.body['redirect_uri'] }
  const login = await gate.call('POST', '/auth/oidc/callback', { as: null, body })
  expect([login.status, login.body['mfa_required']], login.text).toEqual([200, false])
  const as = login.body['access_token'] as string
  expect((await gate.call('GET', '/auth/me', { as })).body).toMatchObject({
    username: 'olga',
    role: 'maintainer',
    auth_source: 'oidc',
    email: 'olga@example.org',
  })
  expect((await gate.call('POST', '/auth/oidc/callback', { as: null, body })).status).toBe(401)
  expect(
    (await gate.call('POST', '/auth/users/olga/reset-password', { body: { new_password: 'Another-pass-1' } })).body,
  ).toMatchObject({ code: 'external_account' })
})

test('a job publishes what its publisher may, and nothing else', async () => {
  const publisher = {
    name: 'tools',
    issuer: issuer.url,
    audience: AUDIENCE,
    claims: { repository: 'acme/tools' },
    role: 'uploader',
    scopes: { actions: ['upload'], distributions: ['noble'], names: ['acme-*'] },
  }
  const set = (publishers: object[]) =>
    gate.call('PATCH', '/settings/', { body: { trusted_publishing: { publishers } } })
  const wide = await set([{ ...publisher, claims: { sub: 'repo:*' } }])
  expect(wide.body).toMatchObject({
    code: 'validation_error',
    errors: [{ field: 'trusted_publishing.publishers[0].claims', message: expect.stringContaining('owner in sub') }],
  })
  expect((await set([publisher])).status).toBe(200)

  const token = await idToken()
  const made = await exchange(token)
  expect([made.status, made.body['role'], made.body['expires_in']], made.text).toEqual([201, 'uploader', 900])
  expect((await exchange(token)).body['code']).toBe('unauthorized')
  expect((await exchange(await idToken({ repository: 'evil/tools' }))).status).toBe(401)

  const as = made.body['token'] as string
  const name = made.body['name'] as string
  const put = async (packageName: string, distribution: string) =>
    (await gate.upload(await buildDeb({ name: packageName }), { distribution }, { as })).status
  expect([await put('acme-one', 'noble'), await put('acme-one', 'jammy'), await put('other', 'noble')]).toEqual([
    201, 403, 403,
  ])
  expect(await lastAudited(gate, { action: 'UPLOAD', result: 'SUCCESS', user: `token:${name}` })).toMatchObject({
    package: 'acme-one',
  })
  expect(await lastAudited(gate, { action: 'TOKEN_EXCHANGE', user: `token:${name}` })).toMatchObject({
    extra: { issuer: issuer.url, subject: 'repo:acme/tools:x' },
  })
  for (const [method, path] of [
    ['GET', '/auth/users'],
    ['GET', '/settings/'],
    ['DELETE', '/artifacts/acme-one'],
    ['POST', '/auth/api-tokens'],
  ] as const)
    expect(
      (await gate.call(method, path, { as, ...(method === 'POST' ? { body: { name: 'mine' } } : {}) })).status,
    ).toBe(403)
  expect((await gate.call('GET', '/auth/api-tokens')).body['tokens']).toContainEqual(
    expect.objectContaining({ name, publisher: 'tools', active: true }),
  )

  await set([])
  expect(await put('acme-two', 'noble')).toBe(401)
  expect((await exchange(await idToken())).status).toBe(401)
})

test('jobs of one publisher are one person: none approves what another of them brought in', async () => {
  const as = (name: string, repository: string) => ({
    ...{ name, issuer: issuer.url, audience: AUDIENCE, claims: { repository }, role: 'maintainer' },
  })
  const publishers = [as('tools', 'acme/tools'), as('release', 'acme/release')]
  const set = (validation: object, forbid_self_approval: boolean) => {
    const body = { trusted_publishing: { publishers }, validation, security: { forbid_self_approval } }
    return gate.call('PATCH', '/settings/', { body })
  }
  expect((await set({ on_unscanned: 'hold' }, true)).status).toBe(200)
  const job = async (repository: string) => {
    const made = await exchange(await idToken({ repository, sub: `repo:${repository}:x` }))
    expect([made.status, made.body['role']], made.text).toEqual([201, 'maintainer'])
    return { as: made.body['token'] as string, name: made.body['name'] as string }
  }
  const [uploader, sibling, other] = [await job('acme/tools'), await job('acme/tools'), await job('acme/release')]
  expect(uploader.name).not.toBe(sibling.name)
  const put = await gate.upload(await buildDeb({ name: 'of-a-job' }), { distribution: 'noble' }, uploader)
  expect(put.body).toMatchObject({ status: 'pending_review' })

  const decided = { decision: 'approve', justification: 'looked at it' }
  const path = `/security/packages/of-a-job/${String(put.body['version'])}/decide`
  const approve = async ({ as }: { as: string }) => {
    const { status, body } = await gate.call('POST', path, { as, body: decided })
    return [status, body['code'] ?? body['new_status']]
  }
  expect(await approve(uploader)).toEqual([403, 'self_approval'])
  expect(await approve(sibling)).toEqual([403, 'self_approval'])
  const items = [{ package: 'of-a-job', version: put.body['version'] }]
  const bulk = await gate.call('POST', '/security/decisions/bulk', { as: sibling.as, body: { items, ...decided } })
  expect(bulk.body).toMatchObject({ decided: 0, items: [{ result: 'failed', code: 'self_approval' }] })

  // A later exchange deletes the row of the uploader's token: only its name tells the publisher.
  gate.clock.advance(16 * 60_000)
  const [later, stranger] = [await job('acme/tools'), await job('acme/release')]
  expect((await approve(other))[0]).toBe(401)
  expect(await approve(later)).toEqual([403, 'self_approval'])
  expect(await approve(stranger)).toEqual([200, 'published'])
  await set({ on_unscanned: 'allow' }, false)
})

test('neither a provider nor an issuer leads to an inner address', async () => {
  const inner = 'http://localhost:1'
  expect((await gate.call('POST', '/auth/oidc/test-discovery', { body: { discovery_url: inner } })).body['code']).toBe(
    'forbidden_target',
  )
  const publisher = { name: 'x', issuer: inner, audience: AUDIENCE, claims: { repository: 'a/b' }, role: 'reader' }
  await gate.call('PATCH', '/settings/', { body: { trusted_publishing: { publishers: [publisher] } } })
  expect((await exchange(await idToken({ iss: inner }))).body['code']).toBe('forbidden_target')
})
