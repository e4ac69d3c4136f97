// /npm: every route as its clients call it.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildNpm, publishBody } from '../samples/npm.ts'
import { PASSWORD, type CallOptions, type Gate } from './harness.ts'
import type { Reply } from './http.ts'
import { JSON_TYPE, pathIn, SHORT, startNpm, type Packument, type Publishing } from './npm.ts'

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

describe('a published version', () => {
  test.each(['plain', '@team/scoped'])('of %s is listed, described and downloaded', async (name) => {
    const tarball = await buildNpm({ name, fields: { dependencies: { other: '^1' }, scripts: { install: 'true' } } })
    expect((await publish('team', name, '1.0.0', { tarball })).status).toBe(201)
    const { status, body, headers } = await get(`team/${name}`)
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/json')
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
    expect(body).toMatchObject({
      name,
      'dist-tags': { latest: '1.0.0' },
      versions: { '1.0.0': { dist: { integrity }, dependencies: { other: '^1' }, hasInstallScript: true } },
      time: { '1.0.0': expect.stringMatching(/^20/) },
    })
    const url = body.versions['1.0.0']!.dist.tarball
    expect(url).toBe(`http://127.0.0.1:${gate.port}/npm/team/${name}/-/${name.replace(/^.*\//, '')}-1.0.0.tgz`)
    const fetched = async (headers: Record<string, string> = {}) => {
      const reply = await fetch(url, { headers: { authorization: `Bearer ${at.uploader}`, ...headers } })
      return [reply.status, Buffer.from(await reply.arrayBuffer()).toString('hex')]
    }
    expect(await fetched()).toEqual([200, tarball.toString('hex')])
    expect(await fetched({ range: 'bytes=1-3' })).toEqual([206, tarball.subarray(1, 4).toString('hex')])
    const head = await gate.call('HEAD', `/npm/${pathIn(url)}`, { as: at.uploader })
    expect([head.status, head.headers['content-length']]).toEqual([200, String(tarball.length)])
  })

  test('has an abbreviated form, an entity tag, and is compressed for those who ask', async () => {
    await publish('team', 'forms')
    const short = await get('team/forms', { headers: SHORT })
    expect(short.headers['content-type']).toBe('application/vnd.npm.install-v1+json')
    expect(Object.keys(short.body).sort()).toEqual(['dist-tags', 'modified', 'name', 'time', 'versions'])
    const again = await get('team/forms', { headers: { ...SHORT, 'if-none-match': String(short.headers.etag) } })
    expect([again.status, again.text]).toEqual([304, ''])
    const other = await get('team/forms', { headers: { 'if-none-match': String(short.headers.etag) } })
    expect(other.status).toBe(200)
    expect((await get('team/forms', { headers: { 'accept-encoding': 'gzip' } })).headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: expect.stringContaining('Accept'),
    })
  })

  test.each([
    ['team/versions/1.0.0', 200, { version: '1.0.0' }],
    ['team/versions/latest', 200, { version: '1.1.0' }],
    ['team/versions/next', 200, { version: '2.0.0-rc.1' }],
    ['team/versions/3.0.0', 404, { code: 'not_found' }],
    ['team/versions/__proto__', 404, { code: 'not_found' }],
    ['team/versions/1.0.0/more', 404, { code: 'not_found' }],
    ['team/Versions', 404, { code: 'not_found' }],
    ['team/nothing', 404, { error: expect.stringContaining('nothing') }],
    ['nowhere/versions', 404, { code: 'not_found' }],
    ['team/..', 400, { code: 'validation_error' }],
    ['team/%2e%2e%2fopen%2fversions', 400, { code: 'validation_error' }],
    ['team/@team%252fscoped', 404, { code: 'not_found' }],
    ['team/-/anything', 404, { code: 'not_found' }],
  ])('%s answers %i', async (path, status, body) => {
    if (!(await get('team/versions').then((reply) => reply.status === 200))) {
      await publish('team', 'versions')
      await publish('team', 'versions', '1.1.0')
      await publish('team', 'versions', '2.0.0-rc.1', { tag: 'next' })
    }
    const reply = await get(path)
    expect([reply.status, reply.body]).toMatchObject([status, body])
  })
})

describe('publishing is refused', () => {
  const other = (tarball: Buffer) => createHash('sha1').update(tarball.subarray(1)).digest('hex')
  test.each<[string, number, string, (version: string, tarball: Buffer) => Promise<Reply>]>([
    ['of a version that is there', 403, 'version_exists', () => publish('team', 'refused')],
    [
      'of the same version with other bytes',
      403,
      'version_exists',
      () => publish('team', 'refused', '1.0.0', { fields: { x: 1 } }),
    ],
    ['under another name', 400, 'invalid_package', (v, tarball) => publish('team', 'other', v, { tarball })],
    ['at another address', 400, 'invalid_package', (v) => publish('team', 'refused', v, { path: 'elsewhere' })],
    ['as another version', 400, 'invalid_package', (_, tarball) => publish('team', 'refused', '7.0.0', { tarball })],
    ['with capitals', 400, 'invalid_package', (v) => publish('team', 'Refused', v)],
    [
      'with another shasum',
      400,
      'checksum_mismatch',
      (v, tarball) =>
        publish('team', 'refused', v, {
          tarball,
          change: (body) => void (body['versions'][v].dist.shasum = other(tarball)),
        }),
    ],
    [
      'with another integrity',
      400,
      'checksum_mismatch',
      (v, tarball) =>
        publish('team', 'refused', v, {
          tarball,
          change: (body) => void (body['versions'][v].dist.integrity = 'sha512-AAAA'),
        }),
    ],
    [
      'with what is not base64',
      400,
      'validation_error',
      (v) =>
        publish('team', 'refused', v, {
          change: (body) => void (body['_attachments'][`refused-${v}.tgz`].data = 'é!'),
        }),
    ],
    [
      'with two files',
      400,
      'validation_error',
      (v) =>
        publish('team', 'refused', v, {
          change: (body) => void (body['_attachments']['x.tgz'] = { data: 'AAAA', length: 3 }),
        }),
    ],
    [
      'with two versions',
      400,
      'invalid_package',
      (v) =>
        publish('team', 'refused', v, { change: (body) => void (body['versions']['9.9.9'] = { version: '9.9.9' }) }),
    ],
    [
      'with a tag for another version',
      400,
      'invalid_package',
      (v) => publish('team', 'refused', v, { change: (body) => void (body['dist-tags']['old'] = '1.0.0') }),
    ],
    ['with a tag that is a range', 400, 'validation_error', (v) => publish('team', 'refused', v, { tag: '1.x' })],
    [
      'of what is no package',
      400,
      'invalid_package',
      (v) => publish('team', 'refused', v, { tarball: Buffer.from('no') }),
    ],
    [
      'of no description at all',
      400,
      'validation_error',
      () => gate.call('PUT', '/npm/team/refused', { as: at.uploader, headers: JSON_TYPE, body: Buffer.from('"text"') }),
    ],
    ['in a group', 409, 'not_hosted', (v) => publish('all', 'refused', v)],
    ['in no repository', 404, 'not_found', (v) => publish('nowhere', 'refused', v)],
    ['by a reader', 403, 'forbidden', (v) => publish('team', 'refused', v, { as: gate.people.reader.token })],
    ['without a credential', 401, 'unauthorized', (v) => publish('open', 'refused', v, { as: null })],
  ])('%s', async (_, status, code, attempt) => {
    if ((await get('team/refused')).status === 404) await publish('team', 'refused')
    const version = '1.1.0'
    const reply = await attempt(version, await buildNpm({ name: 'refused', version }))
    expect([reply.status, reply.body], reply.text).toMatchObject([status, { code, error: expect.stringMatching(/./) }])
    expect(Object.keys((await get('team/refused')).body.versions)).toEqual(['1.0.0'])
  })

  test('with a body that is cut off, and nothing remains', async () => {
    const body = publishBody({ name: 'cut', version: '1.0.0', tarball: await buildNpm({ name: 'cut' }) })
    const cut = await gate.call('PUT', '/npm/team/cut', {
      as: at.uploader,
      headers: JSON_TYPE,
      body: body.subarray(0, -5),
    })
    expect([cut.status, cut.body['code']]).toEqual([400, 'validation_error'])
    expect((await get('team/cut')).status).toBe(404)
  })
})

describe('dist-tags', () => {
  const tags = async () => (await get<Record<string, string>>('team/-/package/tagged/dist-tags')).body
  const set = (tag: string, body: string) =>
    gate.call('PUT', `/npm/team/-/package/tagged/dist-tags/${tag}`, {
      as: at.uploader,
      headers: JSON_TYPE,
      body: Buffer.from(body),
    })

  test('are set, moved and removed, and latest never dangles', async () => {
    await publish('team', 'tagged', '1.0.0')
    await publish('team', 'tagged', '1.1.0')
    await publish('team', 'tagged', '2.0.0-rc.1', { tag: 'next' })
    expect(await tags()).toEqual({ latest: '1.1.0', next: '2.0.0-rc.1' })
    expect((await set('latest', '"1.0.0"')).status).toBe(201)
    expect(await tags()).toEqual({ latest: '1.0.0', next: '2.0.0-rc.1' })
    expect((await gate.call('DELETE', '/npm/team/-/package/tagged/dist-tags/next', { as: at.uploader })).status).toBe(
      200,
    )
    expect((await gate.call('DELETE', '/npm/team/-/package/tagged/dist-tags/latest', { as: at.uploader })).status).toBe(
      200,
    )
    expect(await tags()).toEqual({ latest: '1.1.0' })
  })
  test.each([
    ['one', '"9.0.0"', 404],
    ['1.x', '"1.0.0"', 400],
    ['one', '{}', 400],
    ['one', '"1.0', 400],
  ])('%s is not set to %s', async (tag, body, status) => {
    expect((await set(tag, body)).status).toBe(status)
  })
})

test('versions are deprecated with a message, and no more', async () => {
  await publish('team', 'old', '1.0.0')
  await publish('team', 'old', '2.0.0')
  for (const message of ['use 2', '']) {
    const { body } = await get('team/old?write=true')
    body.versions['1.0.0']!.deprecated = message
    const put = await gate.call('PUT', '/npm/team/old', { as: at.uploader, body })
    expect([put.status, put.text]).toEqual([200, '{"ok":true}'])
    const after = (await get('team/old', { headers: SHORT })).body
    expect(after.versions['1.0.0']?.deprecated).toBe(message === '' ? undefined : message)
    expect(after.versions['2.0.0']?.deprecated).toBeUndefined()
  }
})

test('a version is unpublished as npm does it, and its number is spent; then the rest', async () => {
  const maintainer = gate.people.maintainer.token
  const tarball = await buildNpm({ name: 'gone', version: '1.1.0' })
  await publish('team', 'gone', '1.0.0')
  await publish('team', 'gone', '1.1.0', { tarball })
  const rev = '-rev/1-0'
  const { body } = await get('team/gone?write=true')
  delete body.versions['1.1.0']
  body['dist-tags'] = { latest: '1.0.0' }
  expect((await gate.call('PUT', `/npm/team/gone/${rev}`, { as: maintainer, body })).status).toBe(200)
  const path = `/npm/team/gone/-/gone-1.1.0.tgz/${rev}`
  expect((await gate.call('DELETE', path, { as: at.uploader })).status).toBe(403)
  expect((await gate.call('DELETE', path, { as: maintainer })).status).toBe(200)
  expect((await get('team/gone')).body).toMatchObject({ 'dist-tags': { latest: '1.0.0' } })
  expect((await get('team/gone/-/gone-1.1.0.tgz')).status).toBe(404)
  const spent = await publish('team', 'gone', '1.1.0', { fields: { other: true } })
  expect([spent.status, spent.body['code']]).toEqual([409, 'version_spent'])
  expect((await publish('team', 'gone', '1.1.0', { tarball })).status).toBe(201)
  expect((await gate.call('DELETE', `/npm/team/gone/${rev}`, { as: maintainer })).status).toBe(200)
  expect((await get('team/gone')).status).toBe(404)
})

test('a repository whose packages were deleted can be removed, and another one of its name shows nothing of it', async () => {
  const create = () => gate.call('POST', '/registries', { body: { format: 'npm', name: 'brief', kind: 'hosted' } })
  expect((await create()).status).toBe(201)
  for (const name of ['first', 'second']) expect((await publish('brief', name)).status).toBe(201)
  const selector = (name: string) => `/artifacts/${name}?distribution=npm%2Fbrief`
  expect((await gate.call('DELETE', '/registries/npm/brief')).body).toMatchObject({ code: 'not_empty' })
  for (const name of ['first', 'second']) expect((await gate.call('DELETE', selector(name))).status).toBe(200)
  expect((await gate.call('DELETE', '/registries/npm/brief')).body).toEqual({ status: 'deleted', key: 'npm/brief' })
  expect((await create()).status).toBe(201)
  expect((await get('brief/first')).status).toBe(404)
})

test('a repository that is removed while somebody publishes to it refuses the package, of which nothing remains', async () => {
  const create = () => gate.call('POST', '/registries', { body: { format: 'npm', name: 'fading', kind: 'hosted' } })
  expect((await create()).status).toBe(201)
  const body = publishBody({ name: 'late', version: '1.0.0', tarball: await buildNpm({ name: 'late' }) })
  const removals: number[] = []
  async function* slowly() {
    yield body.subarray(0, -20)
    removals.push((await gate.call('DELETE', '/registries/npm/fading')).status)
    yield body.subarray(-20)
  }
  const reply = await fetch(`http://127.0.0.1:${gate.port}/npm/fading/late`, {
    ...{ method: 'PUT', body: ReadableStream.from(slowly()), duplex: 'half' },
    headers: { ...JSON_TYPE, authorization: `Bearer ${at.uploader}` },
  })
  expect(removals).toEqual([200])
  expect([reply.status, await reply.json()]).toMatchObject([400, { code: 'unknown_distribution' }])
  expect((await create()).status).toBe(201)
  expect((await get('fading/late')).status).toBe(404)
})

describe('people', () => {
  const login = (name: string, password: string, user = name) =>
    gate.call('PUT', `/npm/team/-/user/org.couchdb.user:${user}`, { as: null, body: { name, password, type: 'user' } })

  test('log in with a password for a token that reads and publishes, and log out', async () => {
    const { username } = gate.people.maintainer
    const { status, body } = await login(username, PASSWORD)
    expect([status, body]).toMatchObject([201, { ok: true, token: expect.stringMatching(/^svc_/) }])
    const token = body['token'] as string
    expect((await get('team/-/whoami', { as: token })).body).toMatchObject({
      username: expect.stringContaining(username),
    })
    expect((await publish('team', 'by-login', '1.0.0', { as: token })).status).toBe(201)
    expect((await gate.call('DELETE', '/npm/team/by-login/-rev/1', { as: token })).status).toBe(403)
    expect((await gate.call('GET', '/artifacts/', { as: token })).status).toBe(200)
    expect((await gate.call('DELETE', `/npm/team/-/user/token/${at.uploader}`, { as: token })).status).toBe(404)
    expect((await gate.call('DELETE', `/npm/team/-/user/token/${token}`, { as: token })).status).toBe(200)
    expect((await get('team/-/whoami', { as: token })).status).toBe(401)
  })
  test.each([
    ['reader-person', 'wrong', 'reader-person', 401],
    ['reader-person', PASSWORD, 'admin-person', 404],
    ['nobody', PASSWORD, 'nobody', 401],
  ])('%s with %s as %s is refused with %i', async (name, password, user, status) => {
    expect((await login(name, password, user)).status).toBe(status)
  })
  test('are answered on ping and asked for a password', async () => {
    expect((await get('team/-/ping', { as: null })).text).toBe('{}')
    expect((await gate.call('POST', '/npm/team/-/v1/login', { as: null, body: {} })).status).toBe(404)
  })
})

test.each([
  ['searched', ['searched-one', 'searched-two']],
  ['searched WORDS', ['searched-two']],
  ['searched 100%', []],
  ['', undefined],
])('search for %j finds %j', async (text, names) => {
  if ((await get('team/searched-one')).status === 404) {
    await publish('team', 'searched-one')
    await publish('team', 'searched-two', '1.0.0', { fields: { description: 'Some words', keywords: ['k'] } })
    await publish('team', 'searched-held', '1.0.0', { fields: { description: 'held' } })
  }
  const { body } = await get<{ objects: { package: { name: string } }[]; total: number }>(
    `all/-/v1/search?text=${encodeURIComponent(text)}&size=250`,
  )
  const found = body.objects.map((one) => one.package.name)
  if (names) expect([found, body.total]).toEqual([names, names.length])
  else expect(found).toContain('searched-two')
})

test('an audit without advisories finds nothing, from plain and packed bodies', async () => {
  const tree = JSON.stringify({ dependencies: { a: { version: '1.0.0', dependencies: { b: { version: '2.0.0' } } } } })
  const post = (path: string, body: Uint8Array, headers: Record<string, string> = {}) =>
    gate.call('POST', `/npm/team/-/npm/v1/security/${path}`, {
      as: at.uploader,
      body,
      headers: { ...JSON_TYPE, ...headers },
    })
  const packed = { 'content-encoding': 'gzip' }
  expect((await post('advisories/bulk', Buffer.from('{"a":["1.0.0"]}'))).text).toBe('{}')
  expect((await post('advisories/bulk', gzipSync('{"a":["1.0.0"]}'), packed)).text).toBe('{}')
  expect((await post('audits/quick', gzipSync(tree), packed)).body).toMatchObject({
    metadata: { totalDependencies: 2 },
  })
  expect((await post('audits', Buffer.from(tree))).body).toMatchObject({ advisories: {} })
  expect((await post('audits', Buffer.from('no'), packed)).status).toBe(400)
  expect((await post('audits', gzipSync(Buffer.alloc(20_000_000)), packed)).status).toBe(400)
})
