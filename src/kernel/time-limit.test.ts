import { once } from 'node:events'
import { createServer, connect, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { limitTime } from './time-limit.ts'

/** A stopped process or a paused machine has the same effect on its own timers. */
const freeze = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

it.each([1, 30, 1500])('ends after %i ms', async (ms) => {
  const began = performance.now()
  await new Promise<void>((resolve) => limitTime(ms, resolve))
  // A timer of Node may be early by a millisecond.
  expect(performance.now() - began).toBeGreaterThanOrEqual(ms - 2)
})

it('a time limit that was called off does not end the work', async () => {
  const late: string[] = []
  limitTime(20, () => late.push('called off'))()
  await new Promise<void>((resolve) => limitTime(40, resolve))
  expect(late).toEqual([])
})

it('a time limit counts an answer that came while the process was frozen for longer', async () => {
  const server = createServer((socket) => socket.end('answer')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  try {
    const first = new Promise<string>((resolve) => {
      const end = limitTime(400, () => resolve('late'))
      socket.once('data', (data) => {
        end()
        resolve(String(data))
      })
      freeze(1000)
    })
    expect(await first).toBe('answer')
  } finally {
    socket.destroy()
    server.close()
  }
})
