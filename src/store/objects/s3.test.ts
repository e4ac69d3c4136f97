// A store that hangs: nobody waits for it longer than the limits allow. test/pool uses a real server.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { poolUrl } from '../../config/pool-url.ts'
import type { ObjectStore } from './object-store.ts'
import { openS3 } from './s3.ts'

let server: Server
let sockets: Socket[]
let store: ObjectStore
let directory: string
/** what the store does with a request */
let onRequest: (socket: Socket, head: string) => void
let requests: string[]

// The first request loads half of the client, which takes longer than the limits of the tests on a busy machine.
beforeAll(async () => {
  const peer = createServer((socket) => socket.on('data', () => socket.end('HTTP/1.1 404 Not Found\r\n\r\n')))
  await once(peer.listen(0, '127.0.0.1'), 'listening')
  const first = openAt(peer, { answerMs: 10_000, uploadMs: 10_000, bodyMs: 10_000 })
  await Promise.allSettled([first.size('deb/a'), first.list('deb/', '')])
  first.close()
  peer.close()
})
beforeEach(async () => {
  sockets = []
  requests = []
  onRequest = () => {}
  server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', (piece) => {
      const head = /^(?:GET|HEAD|PUT|POST|DELETE) \S+/.exec(piece.toString('latin1'))?.[0]
      if (head === undefined) return
      requests.push(head)
      onRequest(socket, head)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  store = openAt(server, { answerMs: 300, uploadMs: 300, bodyMs: 300 })
  directory = await mkdtemp(join(tmpdir(), 's3-'))
})
afterEach(async () => {
  store.close()
  for (const socket of sockets) socket.destroy()
  server.close()
  await rm(directory, { recursive: true })
})

function openAt(peer: Server, patience: Parameters<typeof openS3>[2]): ObjectStore {
  const { port } = peer.address() as AddressInfo
  const url = `s3://packages/one?endpoint=${encodeURIComponent(`http://127.0.0.1:${port}`)}`
  return openS3(poolUrl.parse(url), { accessKeyId: 'a', secretAccessKey: 'b' }, patience)
}

async function put(length: number): Promise<void> {
  const bytes = Buffer.alloc(length, 'x')
  const path = join(directory, 'file')
  await writeFile(path, bytes)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  await store.put(`deb/${sha256}`, path, sha256)
}

const answer = (socket: Socket, headers: string, body: string) =>
  socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n${body}`)
const xml = (socket: Socket, body: string) => answer(socket, `Content-Length: ${body.length}`, body)
const UPLOAD = '<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>'

test.each<[string, string, () => Promise<unknown>]>([
  ['a download', 'GET', () => store.get('deb/a')],
  ['a question for a size', 'HEAD', () => store.size('deb/a')],
  ['a list', 'GET', () => store.list('deb/', '')],
  ['a check', 'HEAD', () => store.check()],
  ['an upload', 'PUT', () => put(1000)],
  ['an upload in parts', 'POST', () => put(9 * 1024 * 1024)],
])('%s is asked for once, and refused when the store accepts it and says nothing', async (_, method, request) => {
  await expect(request()).rejects.toMatchObject({ code: 'storage_unavailable', isRefusal: false })
  expect(requests.map((one) => one.split(' ')[0])).toEqual([method])
})

test('an upload whose first part is not taken is refused, and its end is not waited for', async () => {
  onRequest = (socket, head) => {
    if (head.startsWith('POST')) xml(socket, UPLOAD)
    else socket.pause()
  }
  await expect(put(9 * 1024 * 1024)).rejects.toMatchObject({ code: 'storage_unavailable' })
})

test('a download that makes no progress ends with an error, and one that is slow but moves does not', async () => {
  store.close()
  store = openAt(server, { answerMs: 60_000, uploadMs: 60_000, bodyMs: 2_000 })
  onRequest = (socket) => answer(socket, 'Content-Length: 8', 'half')
  const stuck = await store.get('deb/a')
  await expect(buffer(stuck!.stream)).rejects.toThrow('inactivity')
  onRequest = (socket) => {
    answer(socket, 'Content-Length: 8', '')
    let sent = 0
    // In total longer than a store may be silent.
    const timer = setInterval(() => {
      socket.write('x')
      if (++sent === 8) clearInterval(timer)
    }, 300)
  }
  const slow = await store.get('deb/a')
  expect((await buffer(slow!.stream)).length).toBe(8)
})

test('a hundred downloads of a store that hangs are refused together', async () => {
  const refused = await Promise.allSettled(Array.from({ length: 100 }, () => store.get('deb/a')))
  expect(refused.filter(({ status }) => status === 'rejected')).toHaveLength(100)
})
