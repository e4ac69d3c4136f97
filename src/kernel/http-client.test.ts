import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { createServer as createSocketServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpClient, isDowngrade } from './http-client.ts'

const LIMITS = { maxBytes: 1000, timeoutMs: 600_000 }
let server: Server
let port: number
let reached = 0
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'http-client-'))
  server = createServer((request, response) => {
    reached++
    const to = /^\/to\?(.*)$/.exec(request.url ?? '')?.[1]
    if (to) return response.writeHead(302, { location: decodeURIComponent(to) }).end()
    if (request.url === '/loop') return response.writeHead(302, { location: '/loop' }).end()
    if (request.url === '/declared')
      return response.writeHead(200, { 'content-length': '5000' }).end(Buffer.alloc(5000))
    if (request.url === '/undeclared') {
      response.write(Buffer.alloc(900))
      return response.end(Buffer.alloc(900))
    }
    if (request.url === '/broken') {
      response.writeHead(200, { 'content-length': '500' }).write('half')
      return setImmediate(() => request.socket.destroy())
    }
    if (request.url === '/slow') return response.writeHead(200).write('never ends')
    if (request.url === '/echo')
      return response
        .writeHead(206, { etag: '"one"' })
        .end([request.headers.range, request.headers['if-range']].join(' '))
    if (request.url === '/same') return response.writeHead(304).end()
    if (request.url === '/busy') return response.writeHead(503, { 'retry-after': '7' }).end('later')
    if (request.url === '/missing') return response.writeHead(404).end('no')
    return response.end('the secret')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await rm(directory, { recursive: true })
})

describe('a client without access to private addresses', () => {
  const client = createHttpClient({ allowPrivate: false })
  const hosts = [
    '127.0.0.1',
    'localhost',
    '2130706433',
    '0x7f.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '10.0.0.1',
    '192.168.1.1',
    '172.16.0.1',
    '100.64.0.1',
    '[fd00::1]',
    '[64:ff9b::7f00:1]',
  ]
  test.each(hosts)('does not connect to %s', async (host) => {
    const before = reached
    await expect(client.get(`http://${host}:${port}/`, LIMITS)).rejects.toMatchObject({ reason: 'forbidden_target' })
    expect(reached).toBe(before)
  })

  test.each(['file:///etc/passwd', 'ftp://example.org/', 'data:text/plain,x', 'no url'])(
    'does not read %s',
    async (url) => {
      await expect(client.get(url, LIMITS)).rejects.toMatchObject({ reason: 'forbidden_target' })
    },
  )
})

describe('metadata addresses', () => {
  const client = createHttpClient({ allowPrivate: true, allowedHosts: ['169.254.169.254'] })
  test.each(['169.254.169.254', '[fe80::1]', '[::ffff:169.254.169.254]', '100.100.100.200'])(
    '%s is out of reach whatever is allowed',
    async (host) => {
      await expect(client.get(`http://${host}/latest/meta-data`, LIMITS)).rejects.toMatchObject({
        reason: 'forbidden_target',
      })
    },
  )

  test('are refused behind a redirect too', async () => {
    const target = encodeURIComponent('http://169.254.169.254/latest')
    await expect(client.get(`http://127.0.0.1:${port}/to?${target}`, LIMITS)).rejects.toMatchObject({
      reason: 'forbidden_target',
    })
  })
})

test('a private host is reached only when it is allowed by name', async () => {
  const client = createHttpClient({ allowPrivate: false, allowedHosts: ['localhost'] })
  expect((await client.get(`http://localhost:${port}/`, LIMITS)).toString()).toBe('the secret')
  await expect(client.get(`http://127.0.0.1:${port}/`, LIMITS)).rejects.toMatchObject({ reason: 'forbidden_target' })
  const inwards = encodeURIComponent(`http://127.0.0.1:${port}/`)
  await expect(client.get(`http://localhost:${port}/to?${inwards}`, LIMITS)).rejects.toMatchObject({
    reason: 'forbidden_target',
  })
})

describe('a transfer', () => {
  const client = createHttpClient({ allowPrivate: true })
  const at = (path: string) => `http://127.0.0.1:${port}${path}`

  test('follows a redirect and writes the file', async () => {
    const path = join(directory, 'whole')
    await client.download(at(`/to?${encodeURIComponent('/other')}`), path, LIMITS)
    expect(await readFile(path, 'utf8')).toBe('the secret')
  })

  test.each([
    ['/declared', 'too_large'],
    ['/undeclared', 'too_large'],
    ['/broken', 'unreachable'],
    ['/missing', 'status'],
    ['/loop', 'status'],
  ])('%s ends as %s and leaves no file', async (path, reason) => {
    const to = join(directory, 'part')
    await expect(client.download(at(path), to, LIMITS)).rejects.toMatchObject({ reason })
    expect(existsSync(to)).toBe(false)
  })

  test('that never ends is aborted after its time limit', async () => {
    await expect(client.get(at('/slow'), { maxBytes: 1000, timeoutMs: 200 })).rejects.toMatchObject({
      reason: 'timeout',
    })
  })
})

describe('an opened answer', () => {
  const client = createHttpClient({ allowPrivate: true })
  const at = (path: string) => `http://127.0.0.1:${port}${path}`
  const textOf = async (body: AsyncIterable<Uint8Array>) => {
    const pieces: Uint8Array[] = []
    for await (const piece of body) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  }

  test('carries the headers of the request through a redirect', async () => {
    const headers = { range: 'bytes=5-', 'if-range': '"one"' }
    const answer = await client.open(at(`/to?${encodeURIComponent('/echo')}`), LIMITS, headers)
    expect(answer).toMatchObject({ status: 206, headers: { etag: '"one"' } })
    expect(await textOf(answer.body)).toBe('bytes=5- "one"')
  })

  test.each([
    ['/same', 304],
    ['/busy', 503],
    ['/missing', 404],
  ])('%s has the status %i and no body', async (path, status) => {
    const answer = await client.open(at(path), LIMITS)
    expect(answer.status).toBe(status)
    expect(await textOf(answer.body)).toBe('')
  })

  test.each([
    ['/undeclared', 'too_large', 600_000],
    ['/broken', 'unreachable', 600_000],
    ['/slow', 'timeout', 200],
  ])('%s fails while it is read: %s', async (path, reason, idleMs) => {
    const answer = await client.open(at(path), { ...LIMITS, idleMs })
    await expect(textOf(answer.body)).rejects.toMatchObject({ name: 'Error', reason })
  })

  test('is refused when it announces more bytes than are allowed', async () => {
    await expect(client.open(at('/declared'), LIMITS)).rejects.toMatchObject({ reason: 'too_large' })
  })

  test('is not fetched from a forbidden address behind a redirect', async () => {
    const target = encodeURIComponent('http://169.254.169.254/latest')
    await expect(client.open(at(`/to?${target}`), LIMITS)).rejects.toMatchObject({ reason: 'forbidden_target' })
  })
})

test.each([
  ['https://a/', 'http://a/', true],
  ['https://a/', 'https://b/', false],
  ['http://a/', 'https://a/', false],
  ['http://a/', 'http://b/', false],
])('a redirect from %s to %s gives up encryption: %j', (from, to, expected) => {
  expect(isDowngrade(new URL(from), new URL(to))).toBe(expected)
})

test('an opened answer stops with the reason of its signal, before and while it is read', async () => {
  const client = createHttpClient({ allowPrivate: true })
  const reason = new Error('cancelled')
  const stop = new AbortController()
  const answer = await client.open(`http://127.0.0.1:${port}/slow`, { ...LIMITS, signal: stop.signal })
  const reading = (async () => {
    for await (const _ of answer.body) stop.abort(reason)
  })()
  await expect(reading).rejects.toBe(reason)
  await expect(client.open(`http://127.0.0.1:${port}/`, { ...LIMITS, signal: stop.signal })).rejects.toBe(reason)
})

describe('a peer that sends its whole answer and closes at once', () => {
  const client = createHttpClient({ allowPrivate: true })
  // As much as the buffer of an answer holds, so that for a slow reader only the end is left; and more.
  const SIZES = [64 * 1024, 200 * 1024]

  test.each(
    SIZES.flatMap((size) => [
      [size, 'with a length', `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${size}\r\n\r\n`] as const,
      [size, 'without a length', 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'] as const,
      [size, 'in HTTP/1.0', `HTTP/1.0 200 OK\r\nContent-Length: ${size}\r\n\r\n`] as const,
    ]),
  )('is read whole by a reader that begins later: %i bytes %s', async (size, _, head) => {
    const body = Buffer.alloc(size, 'x')
    const sent: Promise<unknown>[] = []
    const peer = createSocketServer((socket: Socket) => {
      socket.once('data', () => {
        sent.push(once(socket, 'finish'))
        socket.end(Buffer.concat([Buffer.from(head), body]))
      })
    }).listen(0, '127.0.0.1')
    await once(peer, 'listening')
    const answer = await client.open(`http://127.0.0.1:${(peer.address() as AddressInfo).port}/`, {
      ...LIMITS,
      maxBytes: body.length,
    })
    await Promise.all(sent)
    // All of it is in the buffers of this machine: the client receives it and its end within a few turns.
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
    const parts: Uint8Array[] = []
    for await (const part of answer.body) parts.push(part)
    expect(Buffer.concat(parts).equals(body)).toBe(true)
    peer.close()
    await once(peer, 'close')
  })
})

test('a request goes through the configured proxy, except to the hosts named', async () => {
  const seen: string[] = []
  const proxy = createServer((request, response) => {
    seen.push(request.url ?? '')
    response.end('from the proxy')
  })
  proxy.on('connect', (request, socket) => {
    seen.push(request.url ?? '')
    socket.end('HTTP/1.1 502 No\r\n\r\n')
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  try {
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const client = createHttpClient({
      allowPrivate: true,
      proxy: { http: address, https: address, except: '127.0.0.1' },
    })
    await client.open('http://upstream.invalid/x', LIMITS).catch(() => null)
    expect(seen).toHaveLength(1)
    expect(seen[0]).toContain('upstream.invalid')
    expect((await client.get(`http://127.0.0.1:${port}/`, LIMITS)).toString()).toBe('the secret')
    expect(seen).toHaveLength(1)
  } finally {
    proxy.closeAllConnections()
    proxy.close()
  }
})
