// The counters of a listener, over real sockets.
import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRepository, openSocket, startListener, type Repository, type TestListener } from './listener.fixture.ts'
import { createTraffic, type Traffic } from './traffic.ts'

const INRELEASE = '/repos/dists/jammy/InRelease'
const LARGE = '/repos/dists/jammy/pool/large_1_amd64.deb'
const NONE = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 }

let repository: Repository
let server: TestListener
let traffic: Traffic

beforeEach(async () => {
  repository = createRepository()
  repository.publish('jammy', { InRelease: 'release' })
  // Larger than all socket buffers together, so that a client which does not read blocks the transfer.
  repository.write('.generations/deb/jammy/pool/large_1_amd64.deb', Buffer.alloc(24 << 20))
  traffic = createTraffic()
  server = await startListener(repository.dir, { traffic })
})
afterEach(async () => {
  await server.close(0)
  repository.remove()
})

const pipelined = (count: number) =>
  `GET ${INRELEASE} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(count) +
  `HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`

test.each([
  ['a file', `GET ${INRELEASE} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, { '2xx': 1 }, 7, 0],
  [
    'a file that is known',
    `GET ${INRELEASE} HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\nConnection: close\r\n\r\n`,
    { '3xx': 1 },
    0,
    0,
  ],
  ['no file', 'HEAD /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', { '4xx': 1 }, 0, 0],
  [
    'a path that is too long',
    `HEAD /${'a'.repeat(9000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    { '4xx': 1 },
    0,
    1,
  ],
  ['a header that is too large', `GET / HTTP/1.1\r\nHost: a\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, { '4xx': 1 }, 32, 1],
  ['no HTTP', 'hello\r\n\r\n', { '4xx': 1 }, 12, 0],
  ['a pipeline', pipelined(50), { '2xx': 50, '4xx': 1 }, 350, 0],
  ['more requests at once than may wait', pipelined(300), { '2xx': 101 }, 707, 1],
])('%s', async (_, sent, requests, sentBytes, refused) => {
  await server.raw(sent)
  expect(traffic.report()).toEqual({ requests: { ...NONE, ...requests }, sentBytes, transfers: 0, refused })
})

test('a transfer counts while it lasts, and what was sent of it when its client has gone', async () => {
  const client = await openSocket(server.port)
  client.write(`GET ${LARGE} HTTP/1.1\r\nHost: a\r\n\r\n`)
  await once(client, 'readable')
  expect(traffic.report()).toEqual({ requests: NONE, sentBytes: 0, transfers: 1, refused: 0 })
  client.destroy()
  await expect.poll(() => traffic.report().transfers).toBe(0)
  const { requests, sentBytes } = traffic.report()
  expect(requests).toEqual({ ...NONE, '2xx': 1 })
  expect(sentBytes).toBeLessThan(24 << 20)
})
