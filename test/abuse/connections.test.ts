// A connection that sends much and reads nothing must not block the others.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENGINES, expectHarmless, openSocket, startTarget, type Target } from './harness.ts'

describe.each(ENGINES)('with the %s database', (engine) => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget(engine)
  })
  afterAll(() => target.remove())

  // These paths query the database.
  const paths = ['/health', '/health/ready', '/metrics']
  const counts = engine === 'embedded' ? [2_000, 20_000] : [20_000]
  test.each(
    [...paths, ...(engine === 'embedded' ? ['/no-such-address'] : [])].flatMap((path) =>
      counts.map((requests) => [path, requests] as const),
    ),
  )('pipelined requests of %s (%i) with unread answers do not block the service', async (path, requests) => {
    const measured = await target.measure(async () => {
      const socket = await openSocket(target.api)
      socket.pause()
      socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`.repeat(requests))
      await new Promise((resolve) => setTimeout(resolve, 3_000))
      socket.destroy()
    })
    expectHarmless(`${engine}: ${requests} x ${path}`, measured)
  })

  test('answers a short pipeline completely and in order', async () => {
    const socket = await openSocket(target.api)
    const paths = Array.from({ length: 20 }, (_, i) => (i % 2 ? '/health/live' : `/nowhere-${i}`))
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`).join(''))
    let text = ''
    for await (const chunk of socket) {
      text += String(chunk)
      if (text.match(/HTTP\/1\.1 /g)?.length === paths.length) break
    }
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
    expect(statuses).toEqual(paths.map((path) => (path === '/health/live' ? 200 : 404)))
  })
})
