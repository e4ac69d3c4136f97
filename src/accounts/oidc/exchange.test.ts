// ID tokens of CI jobs, signed by a real issuer on loopback, and the API tokens that they are exchanged for.
import type { JWTPayload } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { startIssuer, type Issuer } from '../../../test/fakes/issuer.ts'
import type { Publisher } from '../../domain/publishers.ts'
import type { Settings } from '../../domain/settings.ts'
import { randomToken } from '../../kernel/crypto.ts'
import type { Database } from '../../store/db.ts'
import { createAccounts, DEFAULTS, ORIGIN, otherProcess, outcome, outcomes, type Accounts } from '../fixture.ts'

const AUDIENCE = 'https://gate.example.org'

let database: Database & { url: string }
let github: Issuer
let at: Accounts
let publishers: Publisher[]
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  github = await startIssuer()
  await database.db.deleteFrom('api_tokens').execute()
  await database.db.deleteFrom('used_id_tokens').execute()
  publishers = [publisher({ name: 'release', claims: { repository: 'acme/tools', ref: 'refs/tags/v*' } })]
  at = await accountsWith()
  return async () => {
    await at.audited()
    await at.close()
    await github.close()
  }
})

const publisher = (more: Partial<Publisher>): Publisher => ({
  name: 'p',
  issuer: github.url,
  audience: AUDIENCE,
  claims: { repository: 'acme/tools' },
  role: 'uploader',
  ...more,
})
const accountsWith = (options: Parameters<typeof createAccounts>[1] = {}, db = database.db) =>
  createAccounts(db, {
    settings: {
      ...DEFAULTS,
      trusted_publishing: {
        get publishers() {
          return publishers
        },
      },
    } as unknown as Settings,
    ...options,
  })

/** The claims of a job that is accepted. */
function job(more: JWTPayload = {}): JWTPayload {
  const now = Math.floor(at.now() / 1000)
  return {
    iss: github.url,
    aud: AUDIENCE,
    sub: 'repo:acme/tools:ref:refs/tags/v1',
    repository: 'acme/tools',
    ref: 'refs/tags/v1',
    run_id: '77',
    jti: randomToken(16),
    iat: now,
    nbf: now,
    exp: now + 300,
    ...more,
  }
}
const exchange = (token: string, accounts = at) => accounts.exchange.exchange(token, ORIGIN)
const exchanged = async (more: JWTPayload = {}) => exchange(await github.sign(job(more)))
const bearer = (token: string) => at.authenticate(`Bearer ${token}`)

describe('the ID token of a job', () => {
  test('is exchanged for an API token with role, scopes and life of its publisher, and recorded with issuer and subject', async () => {
    const scopes = { actions: ['upload'], distributions: ['noble'] } as const
    publishers = [
      publisher({ name: 'other', claims: { repository: 'acme/other' } }),
      publisher({ name: 'release', scopes, minutes: 5 }),
    ]
    const made = await exchanged()
    expect(made).toMatchObject({
      token: expect.stringMatching(/^svc_[\w-]{43}$/),
      token_type: 'bearer',
      name: expect.stringMatching(/^release#[0-9a-f]{8}$/),
      publisher: 'release',
      role: 'uploader',
      scopes,
      expires_in: 300,
      expires_at: '2026-03-01T12:05:00.000+00:00',
    })
    expect(await bearer(made.token)).toEqual({
      kind: 'token',
      name: `token:${made.name}`,
      ...{ role: 'uploader', ownerRole: 'uploader' },
      ownerId: 0,
      credentialId: made.token_id,
      principal: `token:${made.token_id}`,
      scopes,
    })
    const [entry] = await at.audited()
    expect(entry).toMatchObject({
      action: 'TOKEN_EXCHANGE',
      result: 'SUCCESS',
      user: `token:${made.name}`,
      detail: expect.stringContaining(`repo:acme/tools:ref:refs/tags/v1 of ${github.url}`),
      extra: { issuer: github.url, subject: 'repo:acme/tools:ref:refs/tags/v1', claims: { run_id: '77' } },
    })
    expect(JSON.stringify(entry)).not.toContain(made.token)
    expect(JSON.stringify(await database.db.selectFrom('api_tokens').selectAll().execute())).not.toContain(made.token)
  })

  test('works once, at all replicas together', async () => {
    const other = await otherProcess(database)
    const elsewhere = await accountsWith({}, other.db)
    const token = await github.sign(job())
    const results = await outcomes([exchange(token), exchange(token, elsewhere), exchange(token), exchange(token)])
    expect(results.sort()).toEqual(['ok', 'unauthorized', 'unauthorized', 'unauthorized'])
    expect((await at.audited()).filter(({ detail }) => detail === 'it was used before')).toHaveLength(3)
    await elsewhere.close()
    await other.close()
  })

  test('without an id works once too, also when its signature is written otherwise', async () => {
    const ecdsa = await startIssuer('ES256')
    publishers = [publisher({ issuer: ecdsa.url })]
    const token = await ecdsa.sign(job({ iss: ecdsa.url, jti: undefined }))
    expect(await outcome(exchange(token))).toBe('ok')
    const [head, body, signature = ''] = token.split('.')
    expect(await outcome(exchange(`${head}.${body}.${otherSignature(signature)}`))).toBe('unauthorized')
    expect((await at.audited()).at(-1)).toMatchObject({ detail: 'it was used before' })
    await ecdsa.close()
  })

  test('is remembered until it has expired, and not longer', async () => {
    const token = await github.sign(job())
    await exchange(token)
    at.pass(329_000)
    await exchanged()
    expect(await outcome(exchange(token))).toBe('unauthorized')
    at.pass(400_000)
    await exchanged()
    expect(await database.db.selectFrom('used_id_tokens').selectAll().execute()).toHaveLength(1)
    expect(await outcome(exchange(token))).toBe('unauthorized')
  })
})

describe('refused is', () => {
  test.each<[string, () => JWTPayload, RegExp]>([
    ['another audience', () => ({ aud: 'https://other.example' }), /aud/],
    ['several audiences', () => ({ aud: [AUDIENCE, 'https://other.example'] }), /several audiences/],
    ['no audience', () => ({ aud: undefined }), /aud/],
    ['an expired one', () => ({ exp: Math.floor(at.now() / 1000) - 31 }), /exp/],
    ['one without an end', () => ({ exp: undefined }), /exp/],
    ['one for more than a day', () => ({ exp: Math.floor(at.now() / 1000) + 90_000 }), /more than a day/],
    ['one for later', () => ({ nbf: Math.floor(at.now() / 1000) + 60 }), /nbf/],
    ['one from the future', () => ({ iat: Math.floor(at.now() / 1000) + 60 }), /future|iat/],
    ['one without a subject', () => ({ sub: undefined }), /sub/],
    ['one with an empty subject', () => ({ sub: '' }), /subject/],
    ['one with NUL in its subject', () => ({ sub: 's\0' }), /NUL/],
    ['one with NUL in a claim for the audit log', () => ({ actor: 'a\0b' }), /NUL/],
    ['one with half a surrogate pair', () => ({ nested: { list: ['\ud800'] } }), /surrogate/],
    ['another repository', () => ({ repository: 'acme-evil/tools' }), /release: repository/],
    ['another branch', () => ({ ref: 'refs/heads/main' }), /release: ref/],
    ['a job without a branch', () => ({ ref: undefined }), /release: ref/],
  ])('%s', async (_what, more, reason) => {
    expect(await outcome(exchanged(more()))).toBe('unauthorized')
    expect(await at.audited()).toMatchObject([
      { action: 'TOKEN_EXCHANGE', result: 'FAILURE', user: null, detail: expect.stringMatching(reason), ip: ORIGIN.ip },
    ])
    expect(await database.db.selectFrom('api_tokens').selectAll().execute()).toEqual([])
  })

  test('what nobody signed, what another signed, and what was signed with a shared secret or the public key', async () => {
    const stranger = await startIssuer()
    const right = job()
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const keys = Buffer.from(await (await fetch(`${github.url}/keys`)).arrayBuffer())
    const [head = '', , signature = ''] = (await github.sign(right)).split('.')
    for (const token of [
      await stranger.sign(right, { kid: 'key-1' }),
      await stranger.sign(right, { kid: 'unknown' }),
      await github.sign(right, { alg: 'HS256', key: new TextEncoder().encode('secret'), kid: 'key-1' }),
      await github.sign(right, { alg: 'HS256', key: keys, kid: 'key-1' }),
      `${part({ alg: 'none', kid: 'key-1' })}.${part(right)}.`,
      `${head}.${part({ ...right, repository: 'acme/tools', ref: 'refs/tags/v2' })}.${signature}`,
      // A session of ours is no ID token.
      'svc_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
      'a.b.c',
      '...',
    ])
      expect(await outcome(exchange(token))).toBe('unauthorized')
    await stranger.close()
    expect(await database.db.selectFrom('api_tokens').selectAll().execute()).toEqual([])
  })

  test('an issuer that nobody named, and nothing is asked of it', async () => {
    const stranger = await startIssuer()
    expect(await outcome(exchange(await stranger.sign(job({ iss: stranger.url }))))).toBe('unauthorized')
    expect(await outcome(exchange(await stranger.sign(job({ iss: `${github.url}/` }))))).toBe('unauthorized')
    expect([stranger.asked, github.asked]).toEqual([[], []])
    await stranger.close()
  })

  test('an issuer whose keys cannot be read: upstream_error; one with an inner address: forbidden_target', async () => {
    github.keysStatus = 500
    expect(await outcome(exchanged())).toBe('upstream_error')
    github.keysStatus = 200
    const guarded = await accountsWith({ privateProviders: false })
    expect(await outcome(exchange(await github.sign(job()), guarded))).toBe('forbidden_target')
    await guarded.close()
    const token = await github.sign(job())
    await github.close()
    const fresh = await accountsWith()
    expect(await outcome(exchange(token, fresh))).toBe('upstream_error')
    await fresh.close()
    expect((await at.audited()).map((entry) => entry.action)).toEqual(Array(3).fill('TOKEN_EXCHANGE'))
  })
})

test('keys are kept; a new one is found, and unknown ones do not make us ask again and again', async () => {
  const quick = await accountsWith({ keysCooldownMs: 0 })
  await exchange(await github.sign(job()), quick)
  await exchange(await github.sign(job()), quick)
  expect(github.asked).toEqual(['/.well-known/openid-configuration', '/keys'])
  await github.rotate()
  expect(await outcome(exchange(await github.sign(job()), quick))).toBe('ok')
  expect(github.asked.slice(2)).toEqual(['/keys'])
  await quick.close()
  for (let n = 0; n < 5; n++) await outcome(exchange(await github.sign(job(), { kid: `no-${n}` })))
  expect(github.asked.slice(3)).toEqual(['/.well-known/openid-configuration', '/keys'])
})

describe('the token of a job', () => {
  test('ends with its time, when it is revoked, and with its publisher; and loses rights with it', async () => {
    const [timed, revoked, left] = [await exchanged(), await exchanged(), await exchanged()]
    const admin = { ...(await bearer(left.token)), role: 'admin' as const, name: 'root', scopes: null }
    await at.tokens.revoke(admin, revoked.token_id, ORIGIN)
    expect(await outcome(bearer(revoked.token))).toBe('unauthorized')
    const [release] = publishers as [Publisher]
    publishers = [{ ...release, role: 'reader' }]
    expect(await bearer(left.token)).toMatchObject({ role: 'reader' })
    publishers = []
    expect(await outcome(bearer(left.token))).toBe('unauthorized')
    publishers = [release]
    expect(await outcome(bearer(timed.token))).toBe('ok')
    at.pass(15 * 60_000)
    expect(await outcome(bearer(timed.token))).toBe('unauthorized')
  })

  test('needs a session where people do', async () => {
    const caller = await bearer((await exchanged()).token)
    expect(await outcome(at.sessions.refresh(caller))).toBe('session_required')
    expect(await at.ownAccount.me(caller)).toMatchObject({ username: caller.name, role: 'uploader' })
  })

  test('is listed while it lives, and its row goes with a later exchange', async () => {
    for (let n = 0; n < 3; n++) await exchanged()
    expect((await at.tokens.list()).tokens).toMatchObject(
      Array(3).fill({ publisher: 'release', created_by: 'publisher release', creator_active: true, active: true }),
    )
    at.pass(15 * 60_000)
    expect((await at.tokens.list()).total).toBe(0)
    await exchanged()
    expect(await database.db.selectFrom('api_tokens').selectAll().execute()).toHaveLength(1)
  })
})

/** RFC 7518, section 3.4: R and S; with the group order minus S it is valid too. */
function otherSignature(signature: string): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const bytes = Buffer.from(signature, 'base64url')
  const s = order - BigInt(`0x${bytes.subarray(32).toString('hex')}`)
  return Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]).toString(
    'base64url',
  )
}
