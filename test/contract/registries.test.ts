// /registries: repositories are made, changed and removed by administrators, and read by everybody who may read packages.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tokenHash } from '../../src/accounts/tokens.ts'
import { randomToken } from '../../src/kernel/crypto.ts'
import { startGate, type Gate } from './harness.ts'
import { lastAudited } from './packages/seen.ts'

let gate: Gate
/** Tokens of CI jobs, as their exchange makes them. */
const jobs = { named: `svc_${randomToken(32)}`, unnamed: `svc_${randomToken(32)}` }
beforeAll(async () => {
  gate = await startGate({
    async prepare(db) {
      for (const [token, scopes] of [
        [jobs.named, { actions: ['read'], distributions: ['npm/team'] }],
        [jobs.unnamed, null],
      ] as const)
        await db
          .insertInto('api_tokens')
          .values({
            ...{ id: randomUUID(), name: `build#${token.slice(-8)}`, role: 'reader', publisher: 'build' },
            ...{
              token_hash: tokenHash(token, scopes),
              token_hint: '',
              created_by: 'publisher build',
              created_by_id: null,
            },
            ...{
              created_at: new Date(),
              expires_at: new Date(Date.now() + 3_600_000),
              last_used: null,
              revoked_at: null,
            },
            scopes: scopes && JSON.stringify(scopes),
          })
          .execute()
    },
  })
  for (const [name, more] of [
    ['team', { kind: 'hosted' }],
    ['vendor', { kind: 'hosted', description: 'of others', public: true }],
    ['all', { kind: 'group', members: ['team', 'vendor'] }],
  ] as const)
    await create({ format: 'npm', name, ...more })
})
afterAll(() => gate.close())
const create = (body: object, as?: string) => gate.call('POST', '/registries', { body, ...(as ? { as } : {}) })

test('a repository says what it is, and how clients are set up', async () => {
  const { body } = await gate.call('GET', '/registries/npm/all')
  expect(body).toMatchObject({
    ...{ key: 'npm/all', kind: 'group', members: ['team', 'vendor'], public: false, packages: 0 },
    created_by: 'admin-person',
    url: `http://127.0.0.1:${gate.port}/npm/all/`,
  })
  const setup = body['setup'] as { client: string; text: string }[]
  expect(setup.length).toBeGreaterThan(0)
  for (const { text } of setup) expect(text).toContain(`127.0.0.1:${gate.port}/npm/all/`)
  const { body: list } = await gate.call('GET', '/registries')
  expect(list).toMatchObject({
    total: 3,
    repositories: [{ key: 'npm/all' }, { key: 'npm/team' }, { key: 'npm/vendor' }],
  })
})

test.each<[string, object, number, string]>([
  ['a name with a capital', { name: 'Team' }, 400, 'validation_error'],
  ['a name that leaves its directory', { name: '..' }, 400, 'validation_error'],
  ['a name with a slash', { name: 'a/b' }, 400, 'validation_error'],
  ['an ecosystem that is none', { format: 'deb' }, 400, 'validation_error'],
  ['a kind that is none', { kind: 'mirror' }, 400, 'validation_error'],
  ['a name that is taken', { name: 'team' }, 409, 'already_exists'],
  ['members of a hosted one', { members: ['team'] }, 400, 'validation_error'],
  ['a member that is not there', { kind: 'group', members: ['nobody'] }, 400, 'validation_error'],
  ['a group in a group', { kind: 'group', members: ['all'] }, 400, 'validation_error'],
])('%s is refused', async (_, wrong, status, code) => {
  const reply = await create({ format: 'npm', name: 'new', kind: 'hosted', ...wrong })
  expect([reply.status, reply.body['code']]).toEqual([status, code])
  expect((await gate.call('GET', '/registries')).body['total']).toBe(3)
})

test('what changes is audited with what it was before', async () => {
  await gate.call('PATCH', '/registries/npm/all', { body: { members: ['vendor'], public: true } })
  expect((await gate.call('GET', '/registries/npm/all')).body).toMatchObject({ members: ['vendor'], public: true })
  expect(await lastAudited(gate, { action: 'REPOSITORY_CHANGED' })).toMatchObject({
    action: 'REPOSITORY_CHANGED',
    distribution: 'npm/all',
    extra: { before: { public: false, members: ['npm/team', 'npm/vendor'] }, after: { public: true } },
  })
})

describe('a repository', () => {
  test('that is in a group stays', async () => {
    const reply = await gate.call('DELETE', '/registries/npm/vendor')
    expect([reply.status, reply.body['code']]).toEqual([409, 'not_empty'])
  })

  test('is removed once nothing needs it, and can be made again', async () => {
    await create({ format: 'npm', name: 'short', kind: 'hosted' })
    expect((await gate.call('DELETE', '/registries/npm/short')).body).toEqual({ status: 'deleted', key: 'npm/short' })
    expect((await gate.call('GET', '/registries/npm/short')).status).toBe(404)
    expect((await create({ format: 'npm', name: 'short', kind: 'hosted' })).status).toBe(201)
  })

  test('is no distribution: lists of these leave it out', async () => {
    const { body } = await gate.call('GET', '/distributions/')
    const names = (body['distributions'] as { codename: string }[]).map(({ codename }) => codename)
    expect(names.filter((name) => name.includes('/'))).toEqual([])
  })

  test('may be named by the scopes of a token if it exists', async () => {
    const token = (distribution: string) =>
      gate.call('POST', '/auth/api-tokens', {
        body: { name: `for ${distribution}`, role: 'uploader', scopes: { distributions: [distribution] } },
      })
    expect((await token('npm/team')).status).toBe(201)
    expect((await token('npm/nothing')).body['code']).toBe('unknown_distribution')
  })
})

describe('who may read a private repository', () => {
  const search = async (as: string | null, repository = 'team') =>
    (await gate.call('GET', `/npm/${repository}/-/v1/search?text=x`, { as })).status
  const machine = async (name: string) => {
    const { body } = await gate.call('POST', '/machines', { body: { name, tags: ['build'] } })
    return String(body['token'])
  }
  const reader = (kind: string, name: string) =>
    gate.call('POST', '/readers', { body: { place: 'npm/team', kind, name } })

  test('everybody with an account, until it has readers of its own; machines with a right', async () => {
    const { people } = gate
    const token = await machine('ci-01')
    await gate.call('PATCH', '/registries/npm/all', { body: { public: false, members: ['team'] } })
    expect([await search(null), await search(token), await search(people.reader.session)]).toEqual([401, 401, 200])
    expect((await reader('tag', 'build')).status).toBe(201)
    expect([await search(token), await search(token, 'all')]).toEqual([200, 200])
    expect([await search(people.reader.session), await search(people.maintainer.session)]).toEqual([404, 200])
    await reader('person', people.reader.username)
    expect(await search(people.reader.session)).toBe(200)
    expect(await search(people.auditor.session)).toBe(404)
  })

  test('a token that was made for it, if its owner may read all repositories', async () => {
    const { people } = gate
    const made = async (name: string, distributions: string[] | undefined, as?: string) => {
      const scopes = distributions && { actions: ['read'], distributions }
      const body = { name, role: 'reader', ...(scopes && { scopes }) }
      const {
        status,
        text,
        body: token,
      } = await gate.call('POST', as ? '/auth/me/tokens' : '/auth/api-tokens', {
        ...{ body, ...(as ? { as } : {}) },
      })
      expect(status, text).toBe(201)
      return String(token['token'])
    }
    await reader('tag', 'build')
    const ofAdmin = await made('builds', ['npm/team'])
    const ofUploader = await made('mine', ['npm/team'], people.uploader.session)
    expect([await search(ofAdmin), await search(ofAdmin, 'all')]).toEqual([200, 200])
    expect(await search(await made('elsewhere', ['npm/vendor']))).toBe(404)
    expect(await search(await made('anything', undefined))).toBe(404)
    expect(await search(ofUploader)).toBe(404)
    await reader('person', people.uploader.username)
    expect(await search(ofUploader)).toBe(200)
  })

  test('a token of a CI job whose scopes name it, as long as its publisher has them', async () => {
    const scopes = { actions: ['read'], distributions: ['npm/team'] }
    const publisher = { name: 'build', issuer: 'https://ci.example.org', audience: 'gatehouse', role: 'reader' }
    const publish = (...publishers: object[]) =>
      gate.call('PATCH', '/settings', { body: { trusted_publishing: { publishers } } })
    const claims = { repository: 'acme/tools' }
    expect((await publish({ ...publisher, claims, scopes })).status).toBe(200)
    await reader('tag', 'build')
    expect([await search(jobs.named), await search(jobs.unnamed)]).toEqual([200, 401])
    await publish({ ...publisher, claims, scopes: { ...scopes, distributions: ['npm/vendor'] } })
    expect(await search(jobs.named)).toBe(401)
    await publish()
  })

  test('a machine publishes nothing', async () => {
    const { status } = await gate.call('PUT', '/npm/team/thing', { as: await machine('ci-02'), body: {} })
    expect(status).toBe(401)
  })
})
