// Event streams over real sockets, whose clients read slowly or not at all.
import { once } from 'node:events'
import { connect } from 'node:net'
import Fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStream, type EventStream } from './sse.ts'

const server = Fastify()
let opened: ((stream: EventStream) => void) | null = null
let port: number
beforeAll(async () => {
  server.get('/', (_, reply) => {
    opened?.(openStream(reply, { mostUnread: 64 * 1024 }))
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  port = (server.server.address() as { port: number }).port
})
afterAll(async () => {
  server.server.closeAllConnections()
  await server.close()
})

test('a client that does not read loses events, learns how many, and gets those that follow', async () => {
  const streaming = new Promise<EventStream>((resolve) => (opened = resolve))
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const stream = await streaming
  const text = 'x'.repeat(10_000)
  // More than the buffers of both sockets take, which the kernel may raise to some megabytes.
  const SENT = 5_000
  for (let n = 0; n < SENT; n++) {
    stream.send({ n, text }, 'filler', String(n))
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  let read = ''
  socket.on('data', (bytes) => (read += bytes.toString('latin1')))
  socket.resume()
  const received = () => read.match(/^event: filler$/gm)?.length ?? 0
  const dropped = () =>
    [...read.matchAll(/event: dropped\ndata: \{"count":(\d+)\}/g)].reduce((sum, [, count]) => sum + Number(count), 0)
  await expect.poll(() => received() + dropped()).toBe(SENT)
  expect(dropped()).toBeGreaterThan(0)
  stream.send({ n: 'last' }, 'last')
  await expect.poll(() => read.includes('event: last')).toBe(true)
  stream.close()
  socket.destroy()
})

test('a stream ends the connection of a client that asked for that, and keeps that of any other', async () => {
  const read = async (header: string) => {
    const streaming = new Promise<EventStream>((resolve) => (opened = resolve))
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => (text += bytes.toString('latin1')))
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${header}\r\n`)
    const ended = once(socket, 'end')
    ;(await streaming).close()
    return { socket, ended, text: () => text }
  }
  const closing = await read('Connection: close\r\n')
  await closing.ended
  expect(closing.text()).toMatch(/^connection: close\r$/im)
  const kept = await read('')
  await expect.poll(() => kept.text().endsWith('0\r\n\r\n')).toBe(true)
  expect(kept.text()).toMatch(/^connection: keep-alive\r$/im)
  kept.socket.destroy()
})
