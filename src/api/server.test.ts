// Tests the server over real sockets: bodies that do not arrive and connections that do not end.
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Caller } from '../domain/caller.ts'
import { Problem } from '../domain/problem.ts'
import { createLog } from '../kernel/log.ts'
import { createRateLimiter } from './http/limits.ts'
import { route } from './http/route.ts'
import { createServer } from './server.ts'

const common = { tag: 'test', summary: 'a route of this test', answer: null, problems: [] } as const
const MINUTES = 600_000
const TIMEOUTS = { check: 20, body: MINUTES, uploadIdle: MINUTES, uploadGrace: MINUTES, uploadRate: 1, unread: MINUTES }

let app: FastifyInstance | undefined
let running = 0
let mostRunning = 0
let finish: (() => void)[] = []
const sockets: Socket[] = []

beforeEach(async () => {
  running = mostRunning = 0
  finish = []
  await serve()
})

/** Listens in place of the server before. */
async function serve(timeouts: Partial<typeof TIMEOUTS> = {}): Promise<void> {
  await app?.close()
  app = await createServer({
    routes: [
      route({
        ...common,
        method: 'GET',
        path: '/slow',
        access: 'public',
        limit: 'none',
        async handle({ query }) {
          mostRunning = Math.max(mostRunning, ++running)
          await new Promise((resolve) => setImmediate(resolve))
          running--
          return query
        },
      }),
      route({
        ...common,
        method: 'GET',
        path: '/held',
        access: 'public',
        limit: 'none',
        handle: () => new Promise((resolve) => finish.push(() => resolve({}))),
      }),
      route({
        ...common,
        method: 'POST',
        path: '/open',
        access: 'public',
        limit: 'none',
        body: Type.Object({ text: Type.String() }),
        handle: async ({ body }) => ({ length: body.text.length }),
      }),
      route({ ...common, method: 'POST', path: '/closed', access: 'admin', handle: async () => ({}) }),
      route({
        ...common,
        method: 'POST',
        path: '/form',
        access: 'public',
        limit: 'none',
        flags: { multipart: true },
        async handle({ raw }) {
          for await (const part of raw.parts()) if (part.type === 'file') await part.toBuffer()
          return {}
        },
      }),
    ],
    log: createLog('fatal'),
    production: false,
    trustedProxies: [],
    corsOrigins: [],
    limiter: createRateLimiter({ now: () => new Date(0) }),
    authenticate: (): Promise<Caller> => Promise.reject(new Problem('unauthorized', 'a valid credential is needed')),
    requireFeature: () => {},
    leads: async () => true,
    hasLeader: async () => true,
    keptAnswers: { begin: async () => ({ state: 'running' }), clean: async () => {} },
    formatOf: () => null,
    accepting: () => true,
    observe: () => {},
    denied: async () => {},
    timeouts: { ...TIMEOUTS, ...timeouts },
    drainMs: 300,
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
}
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await app?.close()
  app = undefined
})

const port = () => (app!.server.address() as AddressInfo).port

async function open(): Promise<Socket> {
  const socket = connect(port(), '127.0.0.1')
  socket.on('error', () => {})
  sockets.push(socket)
  await once(socket, 'connect')
  return socket
}

/** Everything the server sends until it closes the connection. */
async function readAll(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await once(socket, 'close')
  return text
}

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

describe('pipelined requests', () => {
  test('run one at a time and are answered in order', async () => {
    const socket = await open()
    const requests = Array.from({ length: 50 }, (_, i) => `GET /api/v1/slow?i=${i} HTTP/1.1\r\nhost: a\r\n`)
    socket.write(`${requests.join('\r\n')}connection: close\r\n\r\n`)
    const text = await readAll(socket)
    expect([...text.matchAll(/\{"i":"(\d+)"\}/g)].map(([, i]) => Number(i))).toEqual(requests.map((_, i) => i))
    expect(mostRunning).toBe(1)
  })

  test('end the connection when there are more than any client sends ahead', async () => {
    const socket = await open()
    socket.write('GET /api/v1/held HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(1_000))
    const answer = readAll(socket)
    for (let given = 0; given < 101; given++) {
      while (finish.length === 0) await new Promise((resolve) => setImmediate(resolve))
      expect(finish).toHaveLength(1)
      finish.pop()?.()
    }
    expect(statuses(await answer)).toHaveLength(101)
  })
})

describe('a body that does not arrive', () => {
  const head = (path: string, headers = '') =>
    `POST /api/v1${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${headers}content-length: 1000000\r\n\r\n{"text":"`

  test.each([
    ['an unknown path', head('/nothing'), 404],
    ['a path of another method', head('/slow'), 405],
    ['a route that needs a credential', head('/closed'), 401],
    ['an unknown content type', head('/open').replace('application/json', 'text/x'), 400],
    ['a body that is too large', head('/open').replace('1000000', '1048577'), 413],
    ['an address that is too long', head(`/${'x'.repeat(3000)}`), 404],
  ])('is not awaited: %s', async (_, text, status) => {
    const socket = await open()
    const answer = readAll(socket)
    socket.write(text)
    expect(statuses(await answer)).toEqual([status])
    expect(await answer).toMatch(/connection: close/i)
  })

  test('ends with 408 when it is late', async () => {
    await serve({ body: 300 })
    const socket = await open()
    const trickle = setInterval(() => socket.write('x'), 20)
    const answer = readAll(socket)
    socket.write(head('/open'))
    expect(statuses(await answer)).toEqual([408])
    expect(await answer).toContain('"code":"request_timeout"')
    clearInterval(trickle)
  })

  test.each([
    ['pauses', 0, { uploadIdle: 300 }],
    ['is slower than the lowest rate', 1, { uploadGrace: 300, uploadRate: 1_000_000 }],
  ])('ends the connection when an upload %s', async (_, bytes, timeouts) => {
    await serve(timeouts)
    const socket = await open()
    const answer = readAll(socket)
    socket.write(
      'POST /api/v1/form HTTP/1.1\r\nhost: a\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 1000000\r\n\r\n' +
        '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n',
    )
    const trickle = setInterval(() => bytes > 0 && socket.write('x'.repeat(bytes)), 20)
    expect(statuses(await answer)).toEqual([408])
    clearInterval(trickle)
  })

  test.each([
    ['an upload that is too slow', { uploadGrace: 100, uploadRate: 1_000_000 }, 408],
    ['a header that is too large', {}, 431],
  ])('does not cost a client that goes on sending its answer: %s', async (_, timeouts, status) => {
    await serve(timeouts)
    const socket = connect({ port: port(), host: '127.0.0.1', allowHalfOpen: true })
    sockets.push(socket)
    const lost: Error[] = []
    socket.on('error', (error) => lost.push(error))
    const closed = new Promise((resolve) => socket.on('close', resolve))
    const answered = once(socket, 'data') as Promise<[Buffer]>
    if (status === 431) socket.write(`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}`)
    else
      socket.write(
        'POST /api/v1/form HTTP/1.1\r\nhost: a\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 1000000\r\n\r\n' +
          '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n',
      )
    expect(statuses(String((await answered)[0]))).toEqual([status])
    // A server that has destroyed its socket answers the first of these with a reset.
    for (let sent = 0; sent < 5; sent++) {
      await new Promise((resolve) => socket.write('x', resolve))
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    socket.end()
    await closed
    expect(lost).toEqual([])
  })

  test('is requested with 100 Continue only when the request is admitted', async () => {
    const ask = (path: string) =>
      new Promise<[continued: boolean, status: number | undefined]>((resolve, reject) => {
        let continued = false
        const body = JSON.stringify({ text: 'abc' })
        const outgoing = request({
          port: port(),
          method: 'POST',
          path: `/api/v1${path}`,
          headers: { expect: '100-continue', 'content-type': 'application/json', 'content-length': body.length },
        })
        outgoing.on('continue', () => {
          continued = true
          outgoing.end(body)
        })
        outgoing.on('response', (incoming) => {
          resolve([continued, incoming.resume().statusCode])
          outgoing.destroy()
        })
        outgoing.on('error', reject)
        outgoing.flushHeaders()
      })
    expect(await ask('/open')).toEqual([true, 200])
    expect(await ask('/closed')).toEqual([false, 401])
  })
})

test('a client that is still sending a large body receives an early answer', async () => {
  const reply = await fetch(`http://127.0.0.1:${port()}/api/v1/closed`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.alloc(4 * 1024 * 1024),
  })
  expect([reply.status, await reply.json()]).toMatchObject([401, { code: 'unauthorized' }])
})

test('anonymous requests to unknown paths and methods count towards the limit of their address', async () => {
  const seen: number[] = []
  for (let i = 0; i < 62; i++)
    seen.push((await fetch(`http://127.0.0.1:${port()}${i % 2 ? '/x' : '/api/v1/closed'}`)).status)
  expect(seen.filter((status) => status === 429)).toHaveLength(2)
  expect(seen.slice(0, 60).every((status) => status === 404 || status === 405)).toBe(true)
})

test('bytes that are not HTTP get an answer in the common error shape', async () => {
  const socket = await open()
  const answer = readAll(socket)
  socket.write('no HTTP\r\n\r\n')
  expect(await answer).toMatch(/^HTTP\/1\.1 400 [^]*"code":"malformed_request"/)
})

test('closing ends within the deadline although one body stalls and one answer is never sent', async () => {
  const [stalled, held] = [await open(), await open()]
  stalled.write('POST /api/v1/open HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n')
  held.write('GET /api/v1/held HTTP/1.1\r\nhost: a\r\n\r\n')
  // A socket that is not read never emits its end.
  for (const socket of [stalled, held]) socket.resume()
  while (finish.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const ended = Promise.all([once(stalled, 'close'), once(held, 'close')])
  await app!.close()
  await ended
})
