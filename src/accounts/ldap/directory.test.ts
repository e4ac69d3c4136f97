// Misbehaving directories, as plain sockets: a login gets one answer, and no error or socket is left behind.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { DEFAULTS } from '../fixture.ts'
import { createDirectory } from './directory.ts'

/** RFC 4511, section 4.1.1: a message is a sequence, here one that announces 2 GB. */
const HUGE = Buffer.from('30847fffffff', 'hex')
const [BIND, EXTENDED] = [0x61, 0x78]
/** Success, as an answer to a request whose number is its fifth byte. */
const success = (asked: Buffer, operation = BIND) =>
  Buffer.from([0x30, 12, 2, 1, asked[4] ?? 0, operation, 7, 10, 1, 0, 4, 0, 4, 0])
const MEBIBYTE = 1024 * 1024

let server: Server | undefined
const open = new Set<Socket>()
afterEach(() => {
  server?.close()
  open.clear()
})

/** For directories whose messages must all be read, on a busy machine. */
const PATIENT_MS = 120_000

/** @returns why a login failed, as the log has it */
async function login(answer: (socket: Socket) => void, ldap: object = {}, answerMs = 1_000): Promise<string> {
  server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => open.delete(socket))
    answer(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const settings = { ...DEFAULTS, ldap: { ...DEFAULTS.ldap, host: '127.0.0.1', port, bind_dn: 'cn=x', ...ldap } }
  let reason = ''
  const directory = createDirectory({
    settings: () => settings,
    onError: (error) => (reason = (error as Error).message),
    answerMs,
  })
  await expect(directory.check('ann', 'a password')).rejects.toMatchObject({ code: 'ldap_unavailable' })
  return reason
}

const flood = (socket: Socket, bytes: Buffer) => {
  const more = () => {
    if (!socket.destroyed)
      socket.write(bytes, (error) => {
        if (!error) setImmediate(more)
      })
  }
  more()
}

test('a message of 2 GB ends the connection before it is collected', async () => {
  let sent = 0
  const floods = (socket: Socket) => {
    socket.once('data', () => {
      socket.write(HUGE)
      flood(socket, Buffer.alloc(64 * 1024))
    })
    socket.once('close', () => (sent = socket.bytesWritten))
  }
  const reason = await login(floods, {}, PATIENT_MS)
  expect(reason).toContain('more than 2097152 bytes')
  await expect.poll(() => open.size).toBe(0)
  // With what the buffers of both sockets take.
  expect(sent).toBeLessThan(32 * MEBIBYTE)
})

test('entries without end end the connection', async () => {
  // An entry without attributes, whose name is 60,000 bytes long.
  const name = Buffer.alloc(60_000, 'x')
  const tlv = (tag: number, ...parts: Buffer[]) => {
    const body = Buffer.concat(parts)
    return Buffer.concat([
      Buffer.from([tag, 0x83, body.length >> 16, (body.length >> 8) & 0xff, body.length & 0xff]),
      body,
    ])
  }
  const entryOf = (asked: Buffer) =>
    tlv(0x30, Buffer.from([2, 1, asked[4] ?? 0]), tlv(0x64, tlv(0x04, name), tlv(0x30)))
  const floods = (socket: Socket) =>
    socket.once('data', (asked) => {
      socket.write(success(asked as Buffer))
      socket.once('data', (asked) => flood(socket, entryOf(asked as Buffer)))
    })
  const reason = await login(floods, {}, PATIENT_MS)
  expect(reason).toContain('more than 2097152 bytes')
})

test.each<[string, (socket: Socket) => void, object?]>([
  ['closes at once', (socket) => socket.resume().end()],
  ['resets at once', (socket) => socket.resetAndDestroy()],
  ['closes when it is asked', (socket) => socket.once('data', () => socket.end())],
  ['resets when it is asked', (socket) => socket.once('data', () => socket.resetAndDestroy())],
  ['never answers', (socket) => socket.resume()],
  ['answers what is no LDAP', (socket) => socket.once('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))],
  ['answers with half a message, and closes', (socket) => socket.once('data', () => socket.end(HUGE.subarray(0, 3)))],
  ['answers before it is asked, then resets', (socket) => socket.write(success(HUGE), () => socket.resetAndDestroy())],
  [
    'resets after the bind',
    (socket) => socket.once('data', (asked) => socket.write(success(asked as Buffer), () => socket.resetAndDestroy())),
  ],
  ['closes in a TLS handshake', (socket) => socket.once('data', () => socket.end('x')), { use_ssl: true }],
  ['resets in a TLS handshake', (socket) => socket.once('data', () => socket.resetAndDestroy()), { use_ssl: true }],
  [
    'resets after it agreed to StartTLS',
    (socket) =>
      socket.once('data', (asked) => {
        socket.write(success(asked as Buffer, EXTENDED))
        socket.once('data', () => socket.resetAndDestroy())
      }),
    { use_starttls: true },
  ],
])('a directory that %s is unavailable', async (_, answer, ldap) => {
  const uncaught: unknown[] = []
  const note = (error: unknown) => uncaught.push(error)
  process.on('uncaughtExceptionMonitor', note)
  process.on('unhandledRejection', note)
  try {
    expect(await login(answer, ldap)).not.toBe('')
    await expect.poll(() => open.size).toBe(0)
    expect(uncaught).toEqual([])
  } finally {
    process.off('uncaughtExceptionMonitor', note)
    process.off('unhandledRejection', note)
  }
})
