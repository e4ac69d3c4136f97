// Long transfers: slow and disconnected clients, removed files, pipelining, time-outs and shutdown.
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createRepository, openSocket, startListener, type Repository, type TestListener } from './listener.fixture.ts'

const POOL = '/repos/dists/jammy/pool'
/** Larger than all socket buffers together, so that a client which does not read blocks the transfer. */
const SIZE = 24 << 20
const BIG = Buffer.alloc(SIZE, 'a big package whose bytes can be told apart, 0123456789 ')
const MEMORY = { totalBytes: 64 << 20, fileBytes: 32 << 20 }
const DISK = { totalBytes: 0, fileBytes: 1000 }
const TIMEOUTS = { header: 20_000, request: 30_000, check: 5_000, keepAlive: 65_000, stalled: 120_000 }
const from = [
  { where: 'memory', memory: MEMORY },
  { where: 'the disk', memory: DISK },
]

let repository: Repository
let server: TestListener | null = null

beforeEach(() => {
  repository = createRepository()
  repository.publish('jammy', { InRelease: 'release', 'main/binary-amd64/Packages.gz': gzipSync(BIG) })
  repository.write('.generations/deb/jammy/pool/big_1_amd64.deb', BIG)
})

afterEach(async () => {
  await server?.close(0)
  server = null
  repository.remove()
})

const start = async (overrides: Parameters<typeof startListener>[1]) =>
  (server = await startListener(repository.dir, overrides))

const get = (path: string, extra = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${extra}\r\n`

/** Sends a request and returns when the header of the answer has arrived, without reading further. */
async function begin(
  port: number,
  path: string,
  extra = '',
): Promise<{ socket: Socket; header: string; body: Buffer }> {
  const socket = await openSocket(port)
  socket.write(get(path, extra))
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('data', (piece: Buffer) => {
      socket.pause()
      const end = piece.indexOf('\r\n\r\n')
      resolve({ socket, header: piece.subarray(0, end).toString('latin1'), body: piece.subarray(end + 4) })
    })
  })
}

/** Reads to the end of the connection, or to `bytes`. */
function rest(socket: Socket, body: Buffer, bytes = Infinity): Promise<Buffer> {
  return new Promise((resolve) => {
    const pieces = [body]
    let length = body.length
    const done = () => resolve(Buffer.concat(pieces))
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece)
      length += piece.length
      if (length >= bytes) done()
    })
    socket.once('error', done)
    socket.once('close', done)
    socket.resume()
  })
}

describe.each(from)('from $where', ({ memory }) => {
  test('a transfer completes after its file was removed and its distribution flipped', async () => {
    const { port } = await start({ memory })
    const { socket, header, body } = await begin(port, `${POOL}/big_1_amd64.deb`)
    expect(header).toContain(`Content-Length: ${SIZE}`)
    rmSync(join(repository.dir, '.generations/deb/jammy/pool/big_1_amd64.deb'))
    repository.publish('jammy', { InRelease: 'next' })
    const received = await rest(socket, body, SIZE)
    expect(received.equals(BIG)).toBe(true)
    expect((await server?.get(`${POOL}/big_1_amd64.deb`))?.status).toBe(404)
    socket.destroy()
  })

  test('a disconnected client is logged with the bytes it was sent, and nothing stays open', async () => {
    const { port, accessPath, accessLog } = await start({ memory })
    const { socket } = await begin(port, `${POOL}/big_1_amd64.deb`, 'User-Agent: gone\r\n')
    socket.destroy()
    await expect
      .poll(async () => {
        await accessLog.flush()
        return logOf(accessPath)
      })
      .toContain('"gone"')
    const line = logOf(accessPath)
    expect(line).toMatch(/big_1_amd64\.deb HTTP\/1\.1" 200 \d+ /)
    expect(Number(/ 200 (\d+) /.exec(line)?.[1])).toBeLessThan(SIZE)
    expect(server?.logged).toEqual([])
  })

  test('closing waits for running transfers only', async () => {
    const { port, close } = await start({ memory })
    const idle = await openSocket(port)
    const idleEnded = new Promise((resolve) => idle.resume().once('close', resolve))
    const { socket, body } = await begin(port, `${POOL}/big_1_amd64.deb`)
    const closed = close(60_000)
    await idleEnded
    await expect(openSocket(port)).rejects.toThrow(/ECONNREFUSED/)
    // No byte count ends this: the server must end the connection after the body.
    expect((await rest(socket, body)).equals(BIG)).toBe(true)
    await closed
    server = null
  })

  test('a request that crosses with the close of its kept connection is answered, as the last one', async () => {
    const { port, close } = await start({ memory })
    const release = '/repos/dists/jammy/InRelease'
    const socket = await openSocket(port)
    socket.write(get(release))
    const [first] = (await once(socket, 'data')) as [Buffer]
    expect(first.toString()).not.toContain('Connection: close')
    socket.write(get(release))
    const closed = close(60_000)
    expect((await rest(socket, Buffer.alloc(0))).toString()).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n/)
    await closed
    server = null
  })

  test('closing breaks a transfer that exceeds the deadline', async () => {
    const { port, close } = await start({ memory })
    const { socket, body } = await begin(port, `${POOL}/big_1_amd64.deb`)
    await close(50)
    server = null
    expect((await rest(socket, body)).length).toBeLessThan(SIZE)
  })

  test('pipelined requests are answered in order, each with its own file', async () => {
    const { port } = await start({ memory })
    const socket = await openSocket(port)
    const release = '/repos/dists/jammy/InRelease'
    const last = get(release, 'Connection: close\r\n')
    socket.write(
      get(release) +
        get(`${POOL}/big_1_amd64.deb`) +
        get('/none') +
        get(`${POOL}/big_1_amd64.deb`, 'Range: bytes=1-3\r\n') +
        last,
    )
    let bytes = await rest(socket, Buffer.alloc(0))
    const bodies = [...Array(5)].map(() => {
      const end = bytes.indexOf('\r\n\r\n')
      const length = Number(/Content-Length: (\d+)/.exec(bytes.subarray(0, end).toString())?.[1])
      const body = bytes.subarray(end + 4, end + 4 + length)
      bytes = bytes.subarray(end + 4 + length)
      return body
    })
    expect(bodies[1]?.equals(BIG)).toBe(true)
    expect([0, 2, 3, 4].map((n) => bodies[n]?.toString())).toEqual(['release', 'not found\n', ' bi', 'release'])
    expect(bytes.length).toBe(0)
  })

  test('a client that pipelines a thousand requests and never reads keeps one file open', async () => {
    const { port, close } = await start({ memory })
    const before = openFiles()
    const socket = await openSocket(port)
    socket.pause()
    socket.write(get(`${POOL}/big_1_amd64.deb`).repeat(1000))
    await server?.get('/repos/dists/jammy/InRelease')
    await server?.get('/repos/dists/jammy/InRelease')
    expect(openFiles() - before).toBeLessThan(20)
    socket.destroy()
    await close(1000)
    server = null
    await expect.poll(() => openFiles() - before).toBeLessThanOrEqual(0)
  })
})

describe('a client that pipelines 20,000 requests', () => {
  test('gets the first answers in full and then a closed connection', async () => {
    const { port } = await start({})
    const socket = await openSocket(port)
    socket.write(get('/none').repeat(20_000))
    const text = (await rest(socket, Buffer.alloc(0))).toString()
    expect(text.match(/^HTTP\/1\.1 404 /gm)).toHaveLength(101)
    expect(text.match(/^Connection: close/gm)).toHaveLength(1)
    expect(text.endsWith('not found\n')).toBe(true)
  })
})

test('a file that shrinks while it is sent breaks the connection', async () => {
  const { port, logged } = await start({ memory: DISK })
  const { socket, body } = await begin(port, `${POOL}/big_1_amd64.deb`)
  truncateSync(join(repository.dir, '.generations/deb/jammy/pool/big_1_amd64.deb'), 1 << 20)
  expect((await rest(socket, body)).length).toBeLessThan(SIZE)
  expect(logged.some((line) => line.includes('shorter'))).toBe(true)
})

test('decompression stops when the client disconnects', async () => {
  const { port, accessPath, accessLog } = await start({})
  const before = openFiles()
  const { socket } = await begin(port, '/repos/dists/jammy/main/binary-amd64/Packages')
  socket.destroy()
  await expect
    .poll(async () => {
      await accessLog.flush()
      return logOf(accessPath)
    })
    .toContain('Packages HTTP')
  await expect.poll(() => openFiles()).toBeLessThanOrEqual(before + 2)
  expect(server?.logged).toEqual([])
})

test('an HTTP/1.0 client gets a decompressed file without chunks, ended by the connection', async () => {
  const { port } = await start({})
  const socket = await openSocket(port)
  socket.write('GET /repos/dists/jammy/main/binary-amd64/Packages HTTP/1.0\r\n\r\n')
  const bytes = await rest(socket, Buffer.alloc(0))
  const end = bytes.indexOf('\r\n\r\n')
  expect(bytes.subarray(0, end).toString()).not.toMatch(/chunked/i)
  expect(bytes.subarray(end + 4).equals(BIG)).toBe(true)
})

describe('time-outs', () => {
  test('an incomplete header gets 408', async () => {
    const { port } = await start({ timeouts: { ...TIMEOUTS, header: 50, request: 100, check: 10 } })
    const socket = await openSocket(port)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n')
    expect((await rest(socket, Buffer.alloc(0))).toString()).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('a client that reads nothing is disconnected, a slow one is not', async () => {
    // On a machine that stalls longer than this, the slow client looks like one that reads nothing: then it gets more time.
    let received = { slow: 0, stalled: SIZE }
    for (const stalledMs of [400, 4_000, 40_000]) {
      const { port, close } = await start({ memory: DISK, timeouts: { ...TIMEOUTS, stalled: stalledMs } })
      const stalled = await begin(port, `${POOL}/big_1_amd64.deb`)
      const slow = await begin(port, `${POOL}/big_1_amd64.deb`)
      received = {
        slow: await readSlowly(slow.socket, slow.body, 1 << 20, stalledMs / 8),
        stalled: (await rest(stalled.socket, stalled.body)).length,
      }
      await close(0)
      server = null
      if (received.slow === SIZE) break
    }
    expect(received.slow).toBe(SIZE)
    expect(received.stalled).toBeLessThan(SIZE)
  })

  test('an idle connection is closed after the keep-alive time', async () => {
    const { port } = await start({ timeouts: { ...TIMEOUTS, keepAlive: 50 } })
    const socket = await openSocket(port)
    socket.write(get('/repos/dists/jammy/InRelease'))
    expect((await rest(socket, Buffer.alloc(0))).toString()).toMatch(/release$/)
  })
})

/** Reads about `step` bytes every `pause` ms until the whole body has arrived or the connection ended. */
function readSlowly(socket: Socket, body: Buffer, step: number, pause: number): Promise<number> {
  return new Promise((resolve) => {
    let total = body.length
    let inStep = 0
    socket.on('data', (piece: Buffer) => {
      total += piece.length
      inStep += piece.length
      if (total >= SIZE) {
        resolve(total)
        return
      }
      if (inStep < step) return
      inStep = 0
      socket.pause()
      setTimeout(() => socket.resume(), pause)
    })
    socket.once('close', () => resolve(total))
    socket.resume()
  })
}

function logOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Open descriptors of this process; 0 where the system does not report them. */
function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}
