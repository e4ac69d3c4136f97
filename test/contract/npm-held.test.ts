// /npm: what is held, private or scoped is served to nobody else, under none of its names.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CallOptions, Gate } from './harness.ts'
import { pathIn, SHORT, startNpm, type Packument, type Publishing } from './npm.ts'

let at: Awaited<ReturnType<typeof startNpm>>
let gate: Gate
const get = <T = Packument>(path: string, options?: CallOptions) => at.get<T>(path, options)
const publish = (repo: string, name: string, version?: string, more?: Publishing) =>
  at.publish(repo, name, version, more)
beforeAll(async () => {
  at = await startNpm()
  gate = at.gate
})
afterAll(async () => {
  expect(gate.errors).toEqual([])
  await gate.close()
})

describe('a held version', () => {
  beforeAll(async () => {
    await publish('team', 'partly', '1.0.0')
    for (const name of ['partly', 'held']) {
      const reply = await publish('team', name, '1.1.0', { fields: { description: 'held' } })
      expect([reply.status, reply.headers['npm-notice']]).toEqual([
        201,
        expect.stringContaining(`${name}@1.1.0 is held`),
      ])
    }
  })
  test('is told, not listed, and no tag points at it', async () => {
    for (const headers of [SHORT, {}]) {
      const { body } = await get('team/partly', { headers })
      expect(Object.keys(body.versions)).toEqual(['1.0.0'])
      expect(body['dist-tags']).toEqual({ latest: '1.0.0' })
      expect(body.policyRestrictions).toMatchObject({
        message: 'partly@1.1.0: it waits for a review of its known vulnerabilities',
        versions: { '1.1.0': { name: 'partly', version: '1.1.0' } },
      })
    }
    expect((await get('team/held')).body).toMatchObject({ versions: {}, 'dist-tags': {} })
  })
  test.each([
    'team/partly/-/partly-1.1.0.tgz',
    'all/partly/-/partly-1.1.0.tgz',
    'team/partly/1.1.0',
    'team/%70artly/-/partly%2d1.1.0.tgz',
    'team/held/-/held-1.1.0.tgz',
  ])('%s gives no byte, by GET, HEAD or range, and says why', async (path) => {
    const reply = await get<Record<string, string>>(path)
    expect([reply.status, reply.body['code'], reply.body['error']]).toEqual([
      403,
      'policy_hold',
      expect.stringContaining('waits for a review of its known vulnerabilities'),
    ])
    expect((await get(path, { headers: { range: 'bytes=0-1' } })).status).toBe(403)
    const head = await gate.call('HEAD', `/npm/${path}`, { as: at.uploader })
    expect([head.status, head.text]).toEqual([403, ''])
  })
  test.each([
    'team/partly/-/Partly-1.1.0.tgz',
    'team/partly/-/partly-1.1.0.TGZ',
    'team/plain/-/partly-1.1.0.tgz',
    'team/Partly/-/partly-1.1.0.tgz',
  ])('%s is no other name for it', async (path) => expect((await get(path)).status).toBe(404))
  test('that the gate refuses is told to its publisher only, and has no byte', async () => {
    await publish('team', 'partly-refused', '1.0.0')
    const reply = await publish('team', 'partly-refused', '1.1.0', { fields: { description: 'refused' } })
    expect([reply.status, reply.body['code']]).toEqual([403, 'policy_hold'])
    const { body } = await get('team/partly-refused')
    expect([Object.keys(body.versions), body['dist-tags'], body.policyRestrictions]).toEqual([
      ['1.0.0'],
      { latest: '1.0.0' },
      undefined,
    ])
    expect((await get('team/partly-refused/-/partly-refused-1.1.0.tgz')).status).toBe(403)
  })
  test('is a version of a name that a group takes from no later member', async () => {
    expect((await publish('open', 'held', '0.9.0')).status).toBe(201)
    expect((await get('all/held')).body).toMatchObject({ versions: {} })
    expect((await get('all/held/-/held-0.9.0.tgz')).status).toBe(404)
    expect((await get('open/held/-/held-0.9.0.tgz')).status).toBe(200)
  })
  test('is listed with its tag once it is approved', async () => {
    const approved = await gate.call('POST', '/security/packages/partly/1.1.0/decide', {
      body: { decision: 'approve', justification: 'reviewed by this test', distribution: 'npm/team' },
    })
    expect(approved.status, approved.text).toBe(200)
    const { body } = await get('team/partly')
    expect(body['dist-tags']).toEqual({ latest: '1.1.0' })
    expect((await get(pathIn(body.versions['1.1.0']!.dist.tarball))).status).toBe(200)
  })
})

describe('who may read and write', () => {
  test('a private repository and an unknown one answer alike without a credential', async () => {
    await publish('team', 'secret')
    for (const path of ['secret', 'secret/-/secret-1.0.0.tgz', '-/package/secret/dist-tags', '-/v1/search?text=x']) {
      const replies = await Promise.all(['team', 'nowhere'].map((repo) => get(`${repo}/${path}`, { as: null })))
      const seen = replies.map(({ status, body, headers }) => [status, body, headers['www-authenticate']])
      expect(seen[0]).toEqual(seen[1])
      expect(seen[0]).toMatchObject([401, { code: 'unauthorized' }, 'Bearer realm="npm"'])
    }
    expect((await get('team/secret', { as: 'svc_wrong' })).status).toBe(401)
  })
  test('a public one, and a group, answer everybody', async () => {
    await publish('open', 'free')
    expect((await get('open/free', { as: null })).status).toBe(200)
    expect((await get('all/free', { as: null })).body.versions['1.0.0']?.dist.tarball).toContain('/npm/all/free/-/')
  })
  test('a public group gives nobody a private name, and does not tell whether there is one', async () => {
    await publish('team', 'inside')
    await publish('open', 'inside', '9.9.9')
    for (const path of ['inside', 'inside/-/inside-1.0.0.tgz', 'inside/-/inside-9.9.9.tgz', 'nothing']) {
      const { status, body } = await get<object>(`all/${path}`, { as: null })
      expect([path, status, body]).toEqual([path, 401, { error: 'a credential is needed', code: 'unauthorized' }])
    }
    expect((await get('all/inside')).body['dist-tags']).toEqual({ latest: '1.0.0' })
    const search = (as?: null) => get<{ total: number }>('all/-/v1/search?text=inside', as === null ? { as } : {})
    expect([(await search(null)).body.total, (await search()).body.total]).toEqual([0, 1])
  })
  test.each<[object, string, string, number]>([
    [{ distributions: ['npm/team'] }, 'team', 'scoped-1', 201],
    [{ distributions: ['npm/team'] }, 'open', 'scoped-1', 403],
    [{ names: ['@a/*'] }, 'team', '@a/scoped', 201],
    [{ names: ['@a/*'] }, 'team', '@b/scoped', 403],
    [{ formats: ['deb'] }, 'team', 'scoped-2', 403],
    [{ actions: ['read'] }, 'team', 'scoped-2', 403],
    [{ actions: ['upload'] }, 'team', 'scoped-2', 201],
  ])('a token of %j publishing to %s as %s is answered %i %i', async (scopes, repo, name, status) => {
    const { body, text } = await gate.call('POST', '/auth/api-tokens', {
      body: { name: `scoped ${JSON.stringify(scopes)} ${repo} ${name}`, role: 'uploader', scopes },
    })
    expect(body['token'], text).toEqual(expect.any(String))
    expect((await publish(repo, name, '1.0.0', { as: body['token'] as string })).status).toBe(status)
  })
})
