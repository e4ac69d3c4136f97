// A server that freezes: statements that wait for it fail as an outage; a statement that is only long continues.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type pg from 'pg'
import { createPool, DatabaseAway } from './database-away.ts'

/** AuthenticationOk and ReadyForQuery; https://www.postgresql.org/docs/current/protocol-message-formats.html */
const WELCOME = Buffer.from('520000000800000000' + '5a0000000549', 'hex')
/** CommandComplete and ReadyForQuery */
const DONE = Buffer.from('430000000d53454c454354203100' + '5a0000000549', 'hex')
const LIMITS = { overdueMs: 50, everyMs: 20, probeMs: 100 }

let server: Server
let pool: pg.Pool
/** how the server treats a new connection */
let greets: 'welcome' | 'never' | 'full'
let sockets: Socket[]

/** Implements as much of the protocol as a pool needs; the test answers the statements. */
beforeEach(async () => {
  greets = 'welcome'
  sockets = []
  server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      if (greets === 'welcome') socket.write(WELCOME)
      if (greets === 'full') socket.end(fatal('53300'))
      server.emit('greeted')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  pool = createPool({ connectionString: `postgres://x@127.0.0.1:${port}/x`, connectionTimeoutMillis: 200 }, LIMITS)
  pool.on('connect', (client) => client.on('error', () => {}))
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await pool.end()
  server.close()
})

function fatal(sqlstate: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${sqlstate}\0Mas planned\0\0`)
  const head = Buffer.alloc(5, 'E')
  head.writeInt32BE(4 + fields.length, 1)
  return Buffer.concat([head, fields])
}

test('a server that answers nobody: each statement that waits is an outage, and the next one connects again', async () => {
  const clients = [await pool.connect(), await pool.connect()]
  greets = 'never'
  const waiting = clients.map((client) => client.query('select 1').catch((error: unknown) => error))
  for (const error of await Promise.all(waiting)) {
    expect(error).toBeInstanceOf(DatabaseAway)
    expect(String(error)).toContain('the server answers nobody')
  }
  for (const client of clients) client.release()
  expect(pool.totalCount).toBe(0)
  await expect(pool.connect()).rejects.toThrow(DatabaseAway)

  greets = 'welcome'
  const client = await pool.connect()
  const query = client.query('select 1')
  sockets.at(-1)?.write(DONE)
  await query
  client.release()
})

test.each(['welcome', 'full'] as const)('a long statement goes on while others are answered (%s)', async (answer) => {
  const client = await pool.connect()
  const [first] = sockets
  greets = answer
  let isPending = true
  const query = client.query('select pg_sleep(60)').finally(() => (isPending = false))
  for (let probe = 0; probe < 4; probe++) await once(server, 'greeted')
  expect(isPending).toBe(true)
  first?.write(DONE)
  await query
  client.release()
})
