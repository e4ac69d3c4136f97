import { measure } from '../kernel/digests.ts'
import { readFile, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createHttpClient } from '../kernel/http-client.ts'
import { createBench, problemOf, sha256, startServer, type Bench, type FakeServer, type Intercept } from './fixture.ts'

const CONTENT = Buffer.alloc(300_000, 'package ')
const PATH = 'pool/h/hello_1+b1~x_amd64.deb'
const ENTRY = { path: PATH, sizeBytes: CONTENT.length, digest: { algorithm: 'sha256' as const, hex: sha256(CONTENT) } }

let bench: Bench
let server: FakeServer
let to: string

beforeAll(async () => {
  bench = await createBench()
  server = await startServer({})
  to = join(bench.directory, 'fetched')
})
beforeEach(() => {
  server.files = { [PATH]: CONTENT }
  server.log = []
  server.intercept = null
  bench.waits.length = 0
})
afterAll(async () => {
  await server.close()
  await bench.close()
})

const fetchIt = async (entry: Partial<typeof ENTRY> = {}) =>
  (await bench.open({ url: server.url })).fetchPackage({ ...ENTRY, ...entry }, to)

/** Calls `first` for this many first requests. */
function firstTimes(times: number, first: (...parameters: Parameters<Intercept>) => void): void {
  let left = times
  server.intercept = (...parameters) => {
    if (left-- <= 0) return false
    first(...parameters)
    return true
  }
}

/** Sends half of the content, then loses the connection. */
function half(response: ServerResponse, headers: Record<string, string> = {}, content = CONTENT): void {
  response.writeHead(200, { 'content-length': content.length, etag: `"${sha256(CONTENT).slice(0, 16)}"`, ...headers })
  response.write(content.subarray(0, 150_000), () => response.socket?.end())
}

describe('a package', () => {
  test('is fetched with its size and digest verified', async () => {
    expect(await fetchIt()).toEqual({
      ...{ path: to, sizeBytes: CONTENT.length, sha256: sha256(CONTENT) },
      digests: (await measure(to)).digests,
    })
    expect((await readFile(to)).equals(CONTENT)).toBe(true)
    await rm(to)
  })

  test('is continued where the connection was lost', async () => {
    firstTimes(1, (_, response) => half(response))
    await fetchIt()
    expect((await readFile(to)).equals(CONTENT)).toBe(true)
    expect(server.log[1]).toMatch(/ 206 bytes=[1-9][0-9]*-$/)
    expect(bench.waits).toEqual([500])
    await rm(to)
  })

  test('is begun again when the file changed in between', async () => {
    firstTimes(1, (_, response) => half(response, { etag: '"older"' }, Buffer.alloc(CONTENT.length, 'old')))
    await fetchIt()
    expect((await readFile(to)).equals(CONTENT)).toBe(true)
    expect(server.log[1]).toMatch(/ 200 bytes=[1-9][0-9]*-$/)
    await rm(to)
  })

  test('is begun again for a server that gives no validator', async () => {
    firstTimes(1, (_, response) => {
      response.writeHead(200, { 'content-length': CONTENT.length })
      response.write(CONTENT.subarray(0, 150_000), () => response.socket?.end())
    })
    await fetchIt()
    expect((await readFile(to)).equals(CONTENT)).toBe(true)
    expect(server.log[1]).toMatch(/ 200$/)
    await rm(to)
  })

  test.each([429, 500, 502, 503, 504])('is asked for again after an answer of %i', async (status) => {
    firstTimes(2, (_, response) => response.writeHead(status).end())
    await fetchIt()
    expect(bench.waits).toEqual([500, 1000])
    await rm(to)
  })

  test('is asked for again when the server says so', async () => {
    firstTimes(1, (_, response) => response.writeHead(429, { 'retry-after': '20' }).end())
    await fetchIt()
    expect(bench.waits).toEqual([20_000])
    await rm(to)
  })
})

test('a transfer stops when its signal does, and leaves no file', async () => {
  const reason = new Error('cancelled')
  const stop = new AbortController()
  server.intercept = (_, response) => {
    response.write(CONTENT.subarray(0, 1000), () => stop.abort(reason))
    return true
  }
  const upstream = await bench
    .upstreams()
    .open({ type: 'apt', url: server.url, keys: [], allowUnsigned: true }, stop.signal)
  await expect(upstream.fetchPackage(ENTRY, to)).rejects.toBe(reason)
  expect(await bench.leftovers()).toEqual([])
})

describe('an upstream', () => {
  const evil = Buffer.alloc(CONTENT.length, 'evil')

  test.each<[string, Intercept, { code: string; reason?: string; waits?: number }]>([
    [
      'that lacks the package',
      (_, response) => done(response.writeHead(404)),
      { code: 'upstream_error', reason: 'missing' },
    ],
    ['that forbids it', (_, response) => done(response.writeHead(403)), { code: 'upstream_error', reason: 'status' }],
    [
      'that stays busy',
      (_, response) => done(response.writeHead(503)),
      { code: 'upstream_error', reason: 'status', waits: 6 },
    ],
    [
      'that is busy for longer than a sync waits',
      (_, response) => done(response.writeHead(503, { 'retry-after': '3600' })),
      { code: 'upstream_error', reason: 'status', waits: 0 },
    ],
    [
      'that resets every connection',
      (request) => {
        request.socket.destroy()
        return true
      },
      { code: 'upstream_error', reason: 'unreachable', waits: 6 },
    ],
    ['that sends other bytes', (_, response) => done(response, evil), { code: 'checksum_mismatch' }],
    ['that sends fewer bytes', (_, response) => done(response, CONTENT.subarray(1)), { code: 'checksum_mismatch' }],
    [
      'that announces more bytes',
      (_, response) => done(response, Buffer.concat([CONTENT, evil])),
      { code: 'checksum_mismatch' },
    ],
    [
      'that never ends',
      (_, response) => {
        const more = (): unknown => !response.destroyed && response.write(evil, () => setImmediate(more))
        more()
        return true
      },
      { code: 'checksum_mismatch' },
    ],
    [
      'that continues with other bytes',
      (request, response) => {
        const from = Number(/[0-9]+/.exec(request.headers.range ?? '')?.[0] ?? -1)
        if (from > 0)
          done(
            response.writeHead(206, { 'content-range': `bytes ${from}-${CONTENT.length - 1}/${CONTENT.length}` }),
            evil.subarray(from),
          )
        else half(response)
        return true
      },
      { code: 'checksum_mismatch', waits: 1 },
    ],
    [
      'that continues somewhere else',
      (request, response) => {
        if (request.headers.range)
          done(response.writeHead(206, { 'content-range': `bytes 7-${CONTENT.length - 1}/${CONTENT.length}` }), CONTENT)
        else half(response)
        return true
      },
      { code: 'upstream_error', reason: 'malformed', waits: 1 },
    ],
    [
      'that leads to a metadata service',
      (_, response) => done(response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' })),
      { code: 'forbidden_target' },
    ],
    [
      'that leads to a file',
      (_, response) => done(response.writeHead(302, { location: 'file:///etc/passwd' })),
      { code: 'forbidden_target' },
    ],
  ])('%s is reported, and no file is left', async (_, intercept, { code, reason, waits = 0 }) => {
    server.intercept = intercept
    const problem = await problemOf(fetchIt())
    expect(problem).toMatchObject({ code, ...(reason ? { extra: { reason } } : {}) })
    expect(problem.detail).not.toContain('undefined')
    expect(bench.waits).toHaveLength(waits)
    expect(await bench.leftovers()).toEqual([])
  })

  test('with a private address is not connected to unless that is allowed', async () => {
    const http = createHttpClient({ allowPrivate: false })
    for (const url of [server.url, server.url.replace('127.0.0.1', 'localhost')]) {
      const upstream = await bench.open({ url }, { http })
      expect(await problemOf(upstream.fetchPackage(ENTRY, to))).toMatchObject({ code: 'forbidden_target' })
    }
    expect(server.log).toEqual([])
    await http.close()
  })

  test.each(['ftp://example.org/', 'gopher://x/', 'no address', 'javascript:alert(1)'])(
    'of the address %s is refused',
    async (url) => {
      expect(await problemOf(bench.open({ url }))).toMatchObject({ code: 'forbidden_target' })
    },
  )

  test.each(['../x.deb', '/etc/passwd', 'a/%2e%2e/x.deb', 'a//b', '', '.', 'http://other/x'])(
    'is not asked for the path %j',
    async (path) => {
      expect(await problemOf(fetchIt({ path }))).toMatchObject({ code: 'upstream_error', extra: { reason: 'path' } })
      expect(server.log).toEqual([])
    },
  )
})

function done(response: ServerResponse, content?: Buffer): true {
  response.end(content)
  return true
}
