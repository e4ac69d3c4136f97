// /registries: repositories are made, changed and removed by administrators, and read by everybody who may read packages.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGate, type Gate } from './harness.ts'
import { lastAudited } from './packages/seen.ts'

let gate: Gate
beforeAll(async () => {
  gate = await startGate()
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
    created_by: 'root-admin',
    url: `http://127.0.0.1:${gate.port}/npm/all/`,
  })
  const setup = body['setup'] as { client: string; text: string }[]
  expect(setup.length).toBeGreaterThan(0)
  for (const { text } of setup) expect(text).toContain(`127.0.0.1:${gate.port}/npm/all/`)
  const { body: list } = await gate.call('GET', '/registries')
  expect(list).toMatchObject({ total: 3, repositories: [{ key: 'npm/all' }, { key: 'npm/team' }, { key: 'npm/vendor' }] })
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
