import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, it, test } from 'vitest'
import { startFailure } from '../kernel/start-error.ts'
import { createPool, DatabaseAway, isAway } from './database-away.ts'

test.each([
  [{ code: '57P01' }, true],
  [{ code: '57P03' }, true],
  [{ code: '08006' }, true],
  [{ code: '53300' }, true],
  [{ code: 'ECONNRESET' }, true],
  [new Error('Connection terminated unexpectedly'), true],
  [new Error('Query read timeout'), true],
  // A slow statement, a conflict, a deadlock, a full disk and a bug of ours are no outage.
  [{ code: '57014' }, false],
  [{ code: '23505' }, false],
  [{ code: '40P01' }, false],
  [{ code: '53100' }, false],
  [new TypeError('Converting circular structure to JSON'), false],
  [null, false],
])('%o is an outage: %s', (error, away) => {
  expect(isAway(error)).toBe(away)
})

it('nobody listens, or the server hangs up: the error is an outage', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pool = createPool({ connectionString: `postgres://x@127.0.0.1:${port}/x` })
  await expect(pool.connect()).rejects.toThrow(DatabaseAway)
  server.close()
  await once(server, 'close')
  const error: unknown = await pool.connect().catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(DatabaseAway)
  expect(startFailure(error)).toMatch(/^cannot start: no connection to the database: .*ECONNREFUSED[^\n]*$/)
  await pool.end()
})
