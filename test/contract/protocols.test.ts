// Declarations of routes for protocols of others: paths, HEAD, errors, challenges, and bodies as streams.
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openapi } from '../../src/api/openapi/document.ts'
import { createDeclaredCheck } from './declared.ts'
import { send, type Reply } from './http.ts'
import { closed, MOST_BYTES, npm, oci, PIECE, PIECES, pypi, sha256, startProtocols } from './protocols.ts'

const MINUTES = 600_000
const TIMEOUTS = { check: 20, body: 200, uploadIdle: MINUTES, uploadGrace: MINUTES, uploadRate: 1, unread: MINUTES }
const READER = { authorization: 'Basic cmVhZGVyOng=' }

let server: Awaited<ReturnType<typeof startProtocols>>
let check: ReturnType<typeof createDeclaredCheck>
beforeAll(async () => {
  server = await startProtocols(TIMEOUTS)
  check = createDeclaredCheck(server.routes)
})
afterAll(async () => {
  await server.close()
  expect(server.errors).toEqual([])
})

async function ask(method: string, path: string, more: { headers?: Record<string, string>; body?: Uint8Array } = {}) {
  const reply = await send(server.port, { method, path, ...more })
  check(method, path, reply)
  return reply
}

describe('a path', () => {
  test.each<[string, number, object]>([
    ['/npm/team/lib', 200, { what: 'package', repo: 'team', package: 'lib' }],
    ['/npm/team/lib/', 200, { what: 'package', repo: 'team', package: 'lib' }],
    ['/npm/team/@s/lib', 200, { what: 'package', package: '@s/lib' }],
    ['/npm/team/@s%2flib', 200, { what: 'package', package: '@s/lib' }],
    ['/npm/team/@s%2Flib?write=true', 200, { what: 'package', package: '@s/lib' }],
    ['/npm/team/@s%2flib/-/lib-1.tgz', 200, { what: 'file', package: '@s/lib', file: 'lib-1.tgz' }],
    ['/npm/team/-/ping', 200, { what: 'ping', repo: 'team' }],
    ['/npm/team/-/pong', 200, { what: 'package', package: '-/pong' }],
    ['/npm/team/@s%252flib', 200, { what: 'package', package: '@s%2flib' }],
    ['/npm/team/lib/%2e%2e/x', 400, { code: 'validation_error' }],
    ['/npm/team/@s%2f..%2flib', 400, { code: 'validation_error' }],
    ['/npm/team/a%00b', 400, { code: 'validation_error' }],
    ['/npm/team/%zz', 400, { code: 'validation_error' }],
    ['/npm/team//lib', 400, { code: 'validation_error' }],
    ['/npm//lib', 404, { code: 'not_found' }],
    ['/npm/team', 404, { code: 'not_found' }],
    ['/npm/team/', 404, { code: 'not_found' }],
    ['/NPM/team/lib', 404, { code: 'not_found', detail: 'there is nothing at this address' }],
    ['/maven/r/org/x/1/x-1.pom', 200, { what: 'maven', path: 'org/x/1/x-1.pom' }],
    ['/maven/r/org%2fx', 400, { code: 'validation_error', errors: [{ field: 'path' }] }],
    ['/maven/r/org/../x', 400, { code: 'validation_error', errors: [{ field: 'path' }] }],
    ['/maven/r/org/%5c', 400, { code: 'validation_error', errors: [{ field: 'path' }] }],
    [`/maven/r/${'a/'.repeat(4_000)}b`, 200, { what: 'maven' }],
    ['/v2/r/a/b/c/manifests/1.0', 200, { what: 'manifest', image: 'a/b/c', reference: '1.0' }],
    ['/v2/r/manifests/manifests/1.0', 200, { what: 'manifest', image: 'manifests' }],
    ['/v2/r/a/%6danifests/1.0', 200, { what: 'manifest', image: 'a', reference: '1.0' }],
    ['/v2/r/a/others/1.0', 404, { errors: [{ code: 'NOT_FOUND' }] }],
    ['/v2/r/manifests/1.0', 404, { errors: [{ code: 'NOT_FOUND' }] }],
  ])('%s answers %i %j', async (path, status, body) => {
    const reply = await ask('GET', path)
    expect([reply.status, reply.body]).toMatchObject([status, body])
  })

  test('in absolute form is the same', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET http://house.test/npm/team/@s/lib HTTP/1.1\r\nhost: house.test\r\nconnection: close\r\n\r\n')
    let answer = ''
    socket.on('data', (part) => (answer += String(part)))
    await closed(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*"package":"@s\/lib"/)
  })
})

describe('HEAD answers like GET, without a body and without making one', () => {
  const varying = ['date', 'x-request-id', 'connection', 'keep-alive']
  const headersOf = ({ headers }: Reply) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !varying.includes(name)))

  test.each([
    '/npm/team/@s%2flib',
    '/v2/r/a/manifests/1',
    '/maven/r/a/../b',
    '/v2/r/a/tags/list',
    '/v2/nothing',
    '/pypi/r/closed',
    '/nothing',
  ])('%s', async (path) => {
    const [get, head] = [await ask('GET', path), await ask('HEAD', path)]
    expect([head.status, head.text, headersOf(head)]).toEqual([get.status, '', headersOf(get)])
  })

  test('of a stream', async () => {
    const head = await ask('HEAD', '/v2/long')
    expect([head.status, head.headers['content-length'], head.text]).toEqual([200, String(PIECE.length * PIECES), ''])
    await server.seen.ended
    expect(server.seen.made).toBe(0)
  })

  test('waits for no other replica, which a write does', async () => {
    const before = server.waited()
    await ask('HEAD', '/npm/team/lib')
    expect(server.waited()).toBe(before)
    await ask('PUT', '/v2/blobs/x')
    expect(server.waited()).toBe(before + 1)
  })
})

describe('an error', () => {
  const basic = 'Basic realm="packages \\"of\\" \\\\ ours"'
  const json = { 'content-type': 'application/json' }
  test.each([
    ['PUT', '/npm/r/@s/lib', {}, npm, 401, 'unauthorized', basic],
    [
      'PUT',
      '/npm/r/@s/lib',
      { headers: { ...READER, ...json }, body: Buffer.from('{}') },
      npm,
      403,
      'forbidden',
      undefined,
    ],
    ['GET', '/npm/r', {}, npm, 404, 'not_found', undefined],
    ['GET', '/npm', {}, npm, 404, 'not_found', undefined],
    ['GET', '/%6epm', {}, npm, 404, 'not_found', undefined],
    ['DELETE', '/npm/r/lib', {}, npm, 405, 'method_not_allowed', undefined],
    ['GET', '/npm/r/%zz', {}, npm, 400, 'validation_error', undefined],
    ['GET', '/pypi/r/closed', {}, pypi, 401, 'unauthorized', 'Basic realm="pypi"'],
    ['GET', '/pypi/r/closed', { headers: READER }, pypi, 403, 'forbidden', undefined],
    ['GET', '/pypi/r', {}, pypi, 404, 'not_found', undefined],
    ['POST', '/pypi/r/simple', {}, pypi, 405, 'method_not_allowed', undefined],
    [
      ...['GET', '/v2/r/a/b%0d%0a%22%c3%a9/tags/list', {}, oci, 401, 'unauthorized'],
      'Bearer realm="https://house.test/v2/token",scope="repository:a/b??\\"?:pull"',
    ],
    ['PUT', '/v2/blobs/x', { body: Buffer.alloc(MOST_BYTES + 1) }, oci, 413, 'body_too_large', undefined],
    ['GET', '/v2/r/a/../manifests/1', {}, oci, 400, 'validation_error', undefined],
  ] as const)(
    '%s %s %# is told in the words of the protocol',
    async (method, path, more, protocol, status, code, challenge) => {
      const reply = await ask(method, path, more)
      const { media } = protocol.errors
      expect([reply.status, reply.headers['content-type'], reply.headers['www-authenticate']]).toEqual([
        ...[status, media, challenge],
      ])
      if (protocol === npm) expect(reply.body).toEqual({ error: expect.stringMatching(/./), code })
      if (protocol === pypi) expect(reply.text).toMatch(new RegExp(`^${status} .+\n$`))
      if (protocol === oci)
        expect(reply.body).toEqual({ errors: [{ code: code.toUpperCase(), message: expect.stringMatching(/./) }] })
    },
  )

  test.each([
    ['/npm/r/-/user', npm],
    ['/pypi/r/simple', pypi],
    ['/v2/token', oci],
  ] as const)('of a limit has its shape too, and Retry-After: %s', async (path, { errors: { media } }) => {
    const replies: Reply[] = []
    for (let i = 0; i < 11; i++) replies.push(await ask('GET', path))
    const last = replies.find(({ status }) => status === 429) as Reply
    expect([last.headers['content-type'], Number(last.headers['retry-after']) >= 1]).toEqual([media, true])
  })

  test('outside of the prefixes is ours', async () => {
    for (const path of ['/npmx', '/v22/x', '/api/v1/nothing', '/'])
      expect([path, await ask('GET', path)]).toMatchObject([
        path,
        { status: 404, headers: { 'content-type': 'application/json; charset=utf-8' }, body: { code: 'not_found' } },
      ])
  })

  test('has its sentence as the reason phrase, in ASCII', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET /pypi/r/closed HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
    let answer = ''
    socket.on('data', (part) => (answer += String(part)))
    await closed(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 401 a \?credential\? is needed\r\n/)
  })
})

describe('a body that is read as it arrives', () => {
  test.each([
    ['of any content type', { 'content-type': 'application/x-something' }],
    ['of JSON that is none', { 'content-type': 'application/json' }],
    ['of a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['without a content type', {}],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('arrives whole: %s', async (_, headers) => {
    const body = Buffer.alloc(3 * 1024 * 1024, 'ab"{')
    const reply = await ask('PUT', '/v2/blobs/whole', { body, headers })
    expect([reply.status, reply.body]).toEqual([200, { sizeBytes: body.length, sha256: sha256(body) }])
  })

  test('may be empty', async () => {
    expect((await ask('PUT', '/v2/blobs/empty')).body).toMatchObject({ sizeBytes: 0 })
  })

  test('is read only as fast as the handler takes it', async () => {
    const body = Buffer.alloc(MOST_BYTES)
    expect((await ask('PUT', '/v2/slowly', { body })).body).toEqual({ bytes: body.length })
    expect(server.seen.receivedMeanwhile).toBeLessThan(body.length / 4)
  })

  test('may take longer than other bodies', async () => {
    const outgoing = request({ port: server.port, method: 'PUT', path: '/v2/blobs/slow' })
    const answered = new Promise<number | undefined>((resolve) =>
      outgoing.on('response', (incoming) => resolve(incoming.resume().statusCode)),
    )
    // Three times the limit of 200 ms for other bodies.
    for (let sent = 0; sent < 30; sent++) {
      outgoing.write('x')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    outgoing.end()
    expect(await answered).toBe(200)
  })

  test('over its limit is refused when nothing announced its length, and leaves nothing', async () => {
    const reply = await ask('PUT', '/v2/blobs/large', {
      body: Buffer.alloc(MOST_BYTES + 1),
      headers: { 'transfer-encoding': 'chunked' },
    })
    expect([reply.status, reply.body]).toMatchObject([413, { errors: [{ code: 'BODY_TOO_LARGE' }] }])
    expect(await readdir(server.seen.directory)).toEqual([])
  })

  test('ends when its client leaves, and leaves nothing', async () => {
    const ended = once(server.seen.bodies, 'cut')
    const socket = connect(server.port, '127.0.0.1')
    socket.write(`PUT /v2/blobs/cut HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(100_000)}`, () =>
      socket.destroy(),
    )
    expect(await ended).toEqual(['body: was cut off'])
    expect(await readdir(server.seen.directory)).toEqual([])
  })

  test('that is read in part keeps no later request of the connection waiting', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const put = (body: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        request({ port: server.port, method: 'PUT', path: '/v2/first-piece', agent }, (incoming) => {
          incoming.resume().on('end', () => resolve(incoming.statusCode))
        })
          .on('error', reject)
          .end(body)
      })
    expect([await put('abc'), await put('x'.repeat(500_000)), await put('abc')]).toEqual([200, 200, 200])
    agent.destroy()
  })
})

test('an answer is made as fast as it is read, and not to its end when the client leaves', async () => {
  const outgoing = request({ port: server.port, path: '/v2/long' }, (incoming) => {
    incoming.once('data', () => outgoing.destroy())
  })
  outgoing.on('error', () => {}).end()
  await closed(outgoing)
  await server.seen.ended
  expect(server.seen.made).toBeGreaterThan(0)
  expect(server.seen.made).toBeLessThan(PIECES / 4)
})

test('the OpenAPI document says the path, the body, the credential and the errors of such routes', () => {
  const { paths, components } = openapi(server.routes, { version: '1' }) as {
    paths: Record<
      string,
      Record<string, { operationId: string; security: object[]; requestBody: object; responses: object }>
    >
    components: { securitySchemes: object }
  }
  const put = paths['/npm/{repo}/{package}']?.['put']
  expect(put).toMatchObject({ operationId: 'putNpmRepoPackage', security: [{ basic: [] }] })
  expect(put?.responses).toMatchObject({ 401: { content: { [npm.errors.media]: {} } } })
  expect(components.securitySchemes).toMatchObject({ basic: { scheme: 'basic' } })
  const blob = paths['/v2/blobs/{name}']?.['put']
  expect(blob?.requestBody).toEqual({ required: false, content: { 'application/octet-stream': {} } })
  expect(blob?.responses).toHaveProperty('413')
})

test('a route outside of the prefix of its protocol is a mistake', async () => {
  const { protocolsOf } = await import('../../src/api/http/protocol.ts')
  expect(() => protocolsOf([{ path: '/npmx/y', root: true, protocol: npm }])).toThrow('/npmx/y is not below /npm')
})
