// Servers that end, reset or confuse the connections of each network library: every call ends, nothing is uncaught.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createGuardedFetch } from '../../src/accounts/oidc/guarded-fetch.ts'
import { createHttpClient } from '../../src/kernel/http-client.ts'
import { createLog } from '../../src/kernel/log.ts'
import { beginSpan, endSpan } from '../../src/kernel/trace.ts'
import { createMailer } from '../../src/audit/notify/mail.ts'
import { createRedis } from '../../src/store/redis/connection.ts'
import { openConnection } from '../../src/gate/engines/clamav/connection.ts'
import { DEFAULTS } from '../../src/accounts/fixture.ts'
import { openDatabase } from '../../src/store/db.ts'
import { openS3 } from '../../src/store/objects/s3.ts'
import { startTracing } from '../../src/operations/monitoring/tracing.ts'

const log = createLog('silent')
const clock = { now: () => new Date() }

/** How a peer treats a connection; `greeting` is the beginning of its protocol. */
const PEERS: Record<string, (socket: Socket, greeting: string) => void> = {
  'closes at once': (socket) => socket.resume().end(),
  'resets at once': (socket) => socket.resetAndDestroy(),
  'greets and closes': (socket, greeting) => socket.resume().end(greeting),
  'greets and resets': (socket, greeting) => socket.write(greeting || 'x', () => socket.resetAndDestroy()),
  'closes when it is asked': (socket, greeting) => {
    socket.write(greeting)
    socket.once('data', () => socket.end())
  },
  'resets when it is asked': (socket, greeting) => {
    socket.write(greeting)
    socket.once('data', () => socket.resetAndDestroy())
  },
  'resets in the answer': (socket, greeting) => {
    socket.write(greeting)
    socket.once('data', () =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', () => socket.resetAndDestroy()),
    )
  },
  'answers garbage': (socket, greeting) => {
    socket.write(greeting)
    socket.on('data', () => socket.write(Buffer.from(Array.from({ length: 300 }, (_, n) => n % 256))))
  },
}

/** Each makes one request, and closes what it has opened. */
const CLIENTS: Record<string, { greeting?: string; ask(port: number): Promise<unknown> }> = {
  mail: {
    greeting: '220 mail.example ESMTP\r\n',
    async ask(port) {
      const email = { ...DEFAULTS.email, smtp_host: '127.0.0.1', smtp_port: port, from_address: 'a@example.org' }
      const settings = () => ({ ...DEFAULTS, email: { ...email, use_tls: false } })
      const mailer = createMailer({ settings, clock, allowPrivate: true, allowedHosts: [], limitMs: 1_000 })
      await mailer.send({ id: '1', to: ['b@example.org'], subject: 's', text: 't', html: 'h', event: 'e' })
    },
  },
  'an object store': {
    async ask(port) {
      const at = { bucket: 'b', prefix: '', endpoint: `http://127.0.0.1:${port}`, region: 'r' }
      const store = openS3(at, { accessKeyId: 'k', secretAccessKey: 's' })
      try {
        await store.size('key')
      } finally {
        store.close()
      }
    },
  },
  PostgreSQL: {
    async ask(port) {
      const database = await openDatabase(`postgres://u:p@127.0.0.1:${port}/d`)
      try {
        await sql`select 1`.execute(database.db)
      } finally {
        await database.close()
      }
    },
  },
  Redis: {
    async ask(port) {
      const url = `redis://127.0.0.1:${port}`
      const redis = createRedis({ url, namespace: 'n', carries: [], log, checkMs: 50, commandMs: 200 })
      redis.start()
      await expect.poll(() => asked).toBeGreaterThan(0)
      await redis.run((client) => client.get('x')).finally(() => redis.close())
    },
  },
  clamd: {
    async ask(port) {
      const limits = { connectMs: 1_000, idleMs: 300, answerMs: 300, overallMs: 1_000 }
      let end!: () => void
      const ended = new Promise<void>((resolve) => (end = resolve))
      const events = { onAnswer: () => {}, onEnd: () => end() }
      const connection = await openConnection({ host: '127.0.0.1', port }, limits, new AbortController().signal, events)
      await connection.send(Buffer.from('zPING\0'))
      await ended
    },
  },
  'a collector of traces': {
    async ask(port) {
      process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://127.0.0.1:${port}`
      const tracing = startTracing({ version: '1', protocol: 'http/protobuf', log })
      delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT']
      const span = { name: 's', kind: 'internal' as const, attributes: {} }
      beginSpan(span, () => endSpan(span))
      await tracing.close()
    },
  },
  'an identity provider': {
    async ask(port) {
      const http = createHttpClient({ allowPrivate: true })
      const guarded = createGuardedFetch(http, false)
      try {
        await guarded(`http://127.0.0.1:${port}/`, { method: 'GET', headers: {} })
      } finally {
        await http.close()
      }
    },
  },
}

let asked = 0
const uncaught: unknown[] = []
const note = (error: unknown) => uncaught.push(error)
beforeAll(() => {
  process.on('uncaughtExceptionMonitor', note)
  process.on('unhandledRejection', note)
})
afterAll(() => {
  process.off('uncaughtExceptionMonitor', note)
  process.off('unhandledRejection', note)
})
afterEach(() => {
  asked = 0
})

describe.each(Object.entries(CLIENTS))('%s', (_, { greeting = '', ask }) => {
  test.each(Object.entries(PEERS))('%s: the call ends, and nothing else does', async (_, behave) => {
    const open = new Set<Socket>()
    const server = createServer((socket) => {
      asked++
      open.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => open.delete(socket))
      behave(socket, greeting)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      await Promise.allSettled([ask((server.address() as AddressInfo).port)])
      expect(asked).toBeGreaterThan(0)
      await expect.poll(() => open.size).toBe(0)
      expect(uncaught).toEqual([])
    } finally {
      server.close()
    }
  })
})
