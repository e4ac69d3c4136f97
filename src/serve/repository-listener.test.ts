// A repository listener over real sockets: files, conditions, ranges, methods and refusals.
import { readFileSync, utimesSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClientAddress } from '../kernel/client-address.ts'
import { createRepository, RPM_MOUNTS, startListener, type Repository, type TestListener } from './listener.fixture.ts'

const PACKAGES = 'Package: hello\n'.repeat(5000)
const DEB = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251))
const LARGE = Buffer.alloc(700_000, 'large package ')
const LONG_AGO = new Date('2026-01-02T03:04:05.678Z')
const INRELEASE = '/repos/dists/jammy/InRelease'
const POOL = '/repos/dists/jammy/pool'
const INDEX = '/repos/dists/jammy/main/binary-amd64'

let repository: Repository
let server: TestListener

beforeAll(async () => {
  repository = createRepository()
  const { write, link, publish, dir } = repository
  write('keys/gpg.key', 'PUBLIC KEY')
  write('keys/packages.key', 'PUBLIC KEY')
  write('keys/svc.rsa.pub', 'RSA KEY')
  write('keys/private.pem', 'SECRET')
  for (const place of [
    'settings.json',
    'gnupg/key.asc',
    'staging/incoming/x.deb',
    'pool/deb/aa/x.deb',
    'manifests/x.json',
    'logs/old.log',
  ]) {
    write(place, 'SECRET')
  }
  publish('jammy', {
    InRelease: 'release one',
    'main/binary-amd64/Packages.gz': gzipSync(PACKAGES),
    '.work/part': 'SECRET',
    empty: '',
  })
  for (const [name, content] of [
    ['g++_1:2.0~rc1_amd64.deb', DEB],
    ['large_1_amd64.deb', LARGE],
  ] as const) {
    utimesSync(write(`.generations/deb/jammy/pool/${name}`, content), LONG_AGO, LONG_AGO)
  }
  write('.generations/deb/jammy/by-hash/SHA256/abcdef', 'old index')
  write('.generations/apk/alpine3.20/r1/APKINDEX.tar.gz', gzipSync('index'))
  link('apk/alpine3.20/main/x86_64/APKINDEX.tar.gz', '../../../../.generations/apk/alpine3.20/r1/APKINDEX.tar.gz')
  write('apk/alpine3.20/main/x86_64/hello-1-r0.apk', 'apk')
  write('.generations/rpm/almalinux9/r1/x86_64/repodata/repomd.xml', '<repomd/>')
  link('rpm/almalinux9', '../.generations/rpm/almalinux9/r1')
  link('dists/outside', '/etc')
  link('dists/settings.json', '../settings.json')
  link('dists/staging', '../staging/incoming')
  link('dists/gnupg', '../gnupg')
  link('dists/pool', '../pool/deb/aa')
  link('dists/everything', '..')
  link('dists/hidden', '../.generations/deb/jammy/r1-test/.work')
  link('dists/rpm', '../.generations/rpm/almalinux9/r1')
  link('dists/loop', 'loop')
  link('apk/manifests', '../manifests')
  server = await startListener(dir, { memory: { totalBytes: 4 << 20, fileBytes: 500_000 } })
})

afterAll(async () => {
  await server.close(1000)
  repository.remove()
})

describe('files', () => {
  test('an index is sent with its length and must be revalidated', async () => {
    const answer = await server.get(INRELEASE)
    expect(answer.status).toBe(200)
    expect(answer.text).toBe('release one')
    expect(answer.headers).toMatchObject({
      'content-length': '11',
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-cache',
      'accept-ranges': 'bytes',
    })
    expect(answer.headers.etag).toMatch(/^"[\w-]+"$/)
  })

  test.each([
    ['g++_1:2.0~rc1_amd64.deb', DEB],
    ['g++_1%3a2.0%7erc1_amd64.deb', DEB],
    ['g%2b%2b_1%3A2.0%7Erc1_amd64.deb', DEB],
    ['large_1_amd64.deb', LARGE],
  ])('the package %s is sent byte for byte, from memory or from the disk', async (name, content) => {
    const answer = await server.get(`${POOL}/${name}`)
    expect(answer.status).toBe(200)
    expect(answer.body.equals(content)).toBe(true)
    expect(answer.headers['content-type']).toBe('application/vnd.debian.binary-package')
    expect(answer.headers['cache-control']).toContain('immutable')
    expect(answer.headers['last-modified']).toBe('Fri, 02 Jan 2026 03:04:05 GMT')
  })

  test('a compressed index is sent as a file without Content-Encoding', async () => {
    const answer = await server.get(`${INDEX}/Packages.gz`, { 'Accept-Encoding': 'gzip' })
    expect(answer.headers['content-type']).toBe('application/gzip')
    expect(answer.headers['content-encoding']).toBeUndefined()
  })

  test.each([
    ['/repos/gpg.key', 'PUBLIC KEY'],
    ['/apk/svc.rsa.pub', 'RSA KEY'],
    ['/apk/alpine3.20/main/x86_64/hello-1-r0.apk', 'apk'],
    [`${INDEX}/by-hash/SHA256/abcdef`, 'old index'],
    ['/repos/dists/jammy/empty', ''],
  ])('%s', async (path, text) => {
    expect(await server.get(path)).toMatchObject({
      status: 200,
      text,
      headers: { 'content-length': String(text.length) },
    })
  })

  test('the rpm port serves rpm distributions only', async () => {
    const rpm = await startListener(repository.dir, { mounts: RPM_MOUNTS })
    expect(await rpm.get('/repos/almalinux9/x86_64/repodata/repomd.xml')).toMatchObject({
      status: 200,
      text: '<repomd/>',
    })
    expect(await rpm.get('/repos/gpg.key')).toMatchObject({ status: 200, text: 'PUBLIC KEY' })
    for (const path of ['/repos/dists/jammy/InRelease', '/repos/jammy/InRelease', '/apk/svc.rsa.pub']) {
      expect((await rpm.get(path)).status).toBe(404)
    }
    await rpm.close(1000)
  })

  test('HEAD sends the headers of GET without a body', async () => {
    for (const path of [INRELEASE, `${POOL}/large_1_amd64.deb`, `${INDEX}/Packages`, '/repos/none']) {
      const [head, get] = [await server.head(path, { Range: 'bytes=0-1' }), await server.get(path)]
      expect(head.body.length).toBe(0)
      expect(head.status).toBe(get.status)
      for (const name of ['etag', 'content-length', 'content-type', 'last-modified'])
        expect(head.headers[name]).toBe(get.headers[name])
    }
  })

  test('a missing plain Packages is decompressed from Packages.gz', async () => {
    const answer = await server.get(`${INDEX}/Packages`)
    expect(answer.status).toBe(200)
    expect(answer.text).toBe(PACKAGES)
    expect(answer.headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8', 'accept-ranges': 'none' })
    const { etag = '' } = answer.headers
    expect(etag).not.toBe((await server.get(`${INDEX}/Packages.gz`)).headers.etag)
    expect((await server.get(`${INDEX}/Packages`, { 'If-None-Match': etag })).status).toBe(304)
    expect((await server.get(`${INDEX}/Packages`, { Range: 'bytes=0-1' })).status).toBe(200)
    expect((await server.get('/repos/dists/jammy/main/binary-arm64/Packages')).status).toBe(404)
  })

  test('a damaged compressed index breaks the connection', async () => {
    repository.write('dists/damaged/Packages.gz', gzipSync(PACKAGES).subarray(0, 60))
    await expect(server.get('/repos/dists/damaged/Packages')).rejects.toThrow()
    expect((await server.get(INRELEASE)).status).toBe(200)
  })
})

describe('refusals', () => {
  test.each([
    '/',
    '/repos/',
    '/repos/dists/',
    '/repos/dists/jammy',
    '/repos/dists/jammy/',
    '/apk/',
    '/none',
    '/repos/dists/none/InRelease',
    '/repos/dists/jammy/InRelease/x',
    `/repos/dists/jammy/${'a'.repeat(300)}`,
    '/repos/dists/loop/x',
    '/repos/dists/jammy/pool',
  ])('%s is not found, and nothing is listed', async (path) => {
    expect(await server.get(path)).toMatchObject({
      status: 404,
      text: 'not found\n',
      headers: { 'cache-control': 'no-store' },
    })
  })

  test.each([
    '/repos/dists/outside/passwd',
    '/repos/dists/settings.json',
    '/repos/dists/staging/x.deb',
    '/repos/dists/gnupg/key.asc',
    '/repos/dists/pool/x.deb',
    '/repos/dists/everything/settings.json',
    '/repos/dists/everything/keys/private.pem',
    '/repos/dists/everything/logs/old.log',
    '/repos/dists/hidden/part',
    '/repos/dists/jammy/.work/part',
    '/apk/manifests/x.json',
    '/repos/dists/rpm/x86_64/repodata/repomd.xml',
    '/repos/dists/everything/dists/jammy/.work/part',
  ])('the link %s out of the published files is not found', async (path) => {
    for (const method of ['GET', 'HEAD', 'GET']) expect((await server.ask(method, path)).status).toBe(404)
  })

  test('a link out of the published files is logged', async () => {
    await server.get('/repos/dists/settings.json')
    expect(server.logged.some((line) => line.includes('leads out') && line.includes('settings.json'))).toBe(true)
  })

  test('a name is checked again when its link changes', async () => {
    const { write, link } = repository
    write('.generations/deb/turn/r1/InRelease', 'fine')
    link('dists/turn', '../.generations/deb/turn/r1')
    write('staging/turn/InRelease', 'SECRET')
    expect((await server.get('/repos/dists/turn/InRelease')).text).toBe('fine')
    link('dists/turn', '../staging/turn')
    expect((await server.get('/repos/dists/turn/InRelease')).status).toBe(404)
    link('dists/turn', '../.generations/deb/turn/r1')
    expect((await server.get('/repos/dists/turn/InRelease')).text).toBe('fine')
  })

  test.each([
    '/repos/dists/../settings.json',
    '/repos/dists/jammy/../../settings.json',
    '/repos/dists/%2e%2e/settings.json',
    '/repos/dists/..%2fsettings.json',
    '/repos/dists/%252e%252e/settings.json',
    '/repos/dists/..\\settings.json',
    '/repos/dists/jammy/InRelease%00',
    '/repos/dists/%5c..%5csettings.json',
    '/../../etc/passwd',
    '/repos/dists/\xc0\xae\xc0\xae/settings.json',
    'http://x/repos/dists/../settings.json',
    '//..//settings.json',
    '/%',
    '/repos/gpg.key%00',
    '/repos/dists/jammy\x00/InRelease',
  ])('the raw target %j reveals nothing', async (target) => {
    const answer = await server.raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(answer).not.toContain('SECRET')
    expect(answer).not.toContain('release one')
  })

  test('an absolute target is answered like its path', async () => {
    const answer = await server.raw(
      `GET http://repo.example${INRELEASE} HTTP/1.1\r\nHost: repo.example\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*release one$/)
  })

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'])('%s is not allowed', async (method) => {
    expect(await server.ask(method, INRELEASE)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
  })

  test('a long target gets 414, a long header 431, a malformed request 400', async () => {
    expect((await server.get(`/repos/dists/${'a/'.repeat(1500)}b`)).status).toBe(414)
    const head = `GET ${INRELEASE} HTTP/1.1\r\nHost: x\r\n`
    expect(await server.raw(`${head}X: ${'a'.repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /)
    expect(await server.raw('nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('a request with a body is answered without reading it, and the connection closes', async () => {
    const answer = await server.raw(`PUT ${INRELEASE} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nstart`)
    expect(answer).toMatch(/^HTTP\/1\.1 405 [\s\S]*Connection: close/)
  })
})

describe('conditions', () => {
  test.each([INRELEASE, `${POOL}/g++_1:2.0~rc1_amd64.deb`, `${POOL}/large_1_amd64.deb`])(
    '%s is not sent again to who has it',
    async (path) => {
      const { headers } = await server.get(path)
      const { etag = '', 'last-modified': modified = '' } = headers
      const unchanged = await server.get(path, { 'If-None-Match': `"other", W/${etag}` })
      expect(unchanged).toMatchObject({ status: 304, text: '', headers: { etag } })
      expect(unchanged.headers['cache-control']).toBe(headers['cache-control'])
      expect((await server.get(path, { 'If-None-Match': '"other"', 'If-Modified-Since': modified })).status).toBe(200)
      expect((await server.get(path, { 'If-Match': '"other"' })).status).toBe(412)
      expect((await server.get(path, { 'If-Match': etag, Range: 'bytes=0-0' })).status).toBe(206)
      expect((await server.get(path, { 'If-None-Match': etag, Range: 'bytes=0-0' })).status).toBe(304)
      expect((await server.get(path, { 'If-Unmodified-Since': 'Thu, 01 Jan 2015 00:00:00 GMT' })).status).toBe(412)
    },
  )

  test('a package is not sent again to a client that sends its date', async () => {
    const since = { 'If-Modified-Since': 'Fri, 02 Jan 2026 03:04:05 GMT' }
    expect((await server.get(`${POOL}/large_1_amd64.deb`, since)).status).toBe(304)
    expect((await server.head(`${POOL}/large_1_amd64.deb`, since)).status).toBe(304)
    const earlier = { 'If-Modified-Since': 'Fri, 02 Jan 2026 03:04:04 GMT' }
    expect((await server.get(`${POOL}/large_1_amd64.deb`, earlier)).status).toBe(200)
  })
})

describe('ranges', () => {
  const names = [
    ['g++_1:2.0~rc1_amd64.deb', DEB],
    ['large_1_amd64.deb', LARGE],
  ] as const
  const cases = names.flatMap(([name, content]) =>
    [
      [0, 0],
      [10, 19],
      [content.length - 1, content.length - 1],
      [1, content.length - 1],
    ].map(([first = 0, last = 0]) => ({ name, content, first, last })),
  )
  test.each(cases)('$name bytes $first to $last', async ({ name, content, first, last }) => {
    const answer = await server.get(`${POOL}/${name}`, { Range: `bytes=${first}-${last}` })
    expect(answer.status).toBe(206)
    expect(answer.headers['content-range']).toBe(`bytes ${first}-${last}/${content.length}`)
    expect(answer.headers['content-length']).toBe(String(last - first + 1))
    expect(answer.body.equals(content.subarray(first, last + 1))).toBe(true)
  })

  test.each(names)('the end of %s', async (name, content) => {
    const answer = await server.get(`${POOL}/${name}`, { Range: 'bytes=-7' })
    expect(answer.status).toBe(206)
    expect(answer.body.equals(content.subarray(-7))).toBe(true)
  })

  test.each(names)('beyond the end of %s', async (name, content) => {
    const answer = await server.get(`${POOL}/${name}`, { Range: `bytes=${content.length}-` })
    expect(answer).toMatchObject({ status: 416, headers: { 'content-range': `bytes */${content.length}` } })
  })

  test('a request of several ranges gets the whole file', async () => {
    const answer = await server.get(`${POOL}/large_1_amd64.deb`, { Range: 'bytes=0-1,5-6' })
    expect(answer.status).toBe(200)
    expect(answer.body.equals(LARGE)).toBe(true)
  })

  test('a range of another state of the file gets the whole file', async () => {
    const path = `${POOL}/large_1_amd64.deb`
    const { etag = '' } = (await server.head(path)).headers
    const ask = async (ifRange: string) => (await server.get(path, { Range: 'bytes=5-9', 'If-Range': ifRange })).status
    expect(await ask(etag)).toBe(206)
    expect(await ask(`W/${etag}`)).toBe(200)
    expect(await ask('"other"')).toBe(200)
    expect(await ask('Fri, 02 Jan 2026 03:04:05 GMT')).toBe(206)
    expect(await ask('Fri, 02 Jan 2026 03:04:06 GMT')).toBe(200)
  })

  test('an unsatisfiable range of another state is not an error', async () => {
    const answer = await server.get(INRELEASE, { Range: 'bytes=5000-', 'If-Range': '"other"' })
    expect(answer).toMatchObject({ status: 200, text: 'release one' })
  })
})

test('a missing repositories directory is treated as empty', async () => {
  const early = await startListener(join(repository.dir, 'later'))
  expect((await early.get(INRELEASE)).status).toBe(404)
  await early.close(1000)
})

test.each([
  ['that is trusted', ['127.0.0.1'], '192.0.2.7'],
  ['that nobody trusts', ['10.0.0.0/8'], '127.0.0.1'],
])('the access log names the client behind a proxy %s', async (_, trusted, address) => {
  const behind = createRepository()
  const listener = await startListener(behind.dir, { clientAddress: createClientAddress(trusted) })
  await listener.get(INRELEASE, { 'X-Forwarded-For': '192.0.2.7' })
  await listener.close(1000)
  expect(readFileSync(listener.accessPath, 'latin1')).toMatch(new RegExp(`^${address} - - `))
  behind.remove()
})

test('listen rejects for a port in use', async () => {
  const second = startListener(repository.dir).then((other) =>
    other.close(0).then(() => other.listen(server.port, '127.0.0.1')),
  )
  await expect(second).rejects.toThrow(/EADDRINUSE/)
})
