// Bodies that are withheld, megabytes of wrong content, or sent to unknown paths must cost the service neither time nor memory.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inGroups } from '../../src/kernel/in-groups.ts'
import { closedBy, ENGINES, expectHarmless, openSocket, startTarget, type Target } from './harness.ts'

const CONNECTIONS = 300
/** Sending all at once, 270 MB, would measure the loopback of two cores and not the service. */
const SENT_AT_ONCE = 20
/** A service that stops reading must not stop the sender. */
const SENT_MS = 1_000
/** A withheld body is kept for half a minute. This limit only ends a test whose connections are never closed. */
const CLOSED_MS = 300_000

const WITHHELD = [
  [
    '/api/v1/upload',
    'multipart/form-data; boundary=b',
    10_000,
    (token: string) => ({ authorization: `Bearer ${token}` }),
  ],
  ['/api/v1/auth/token', 'application/json', 900_000, () => ({})],
  ['/webhooks/kev', 'application/json', 900_000, () => ({ 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` })],
  ['/no-such-address', 'application/json', 900_000, () => ({})],
] as const

describe.each(ENGINES)('with the %s database', (engine) => {
  let target: Target
  beforeAll(async () => {
    target = await startTarget(engine)
  })
  afterAll(() => target.remove())

  async function withhold(
    [path, type, bytes, headersOf]: (typeof WITHHELD)[number],
    connections: number,
  ): Promise<Socket[]> {
    const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(target.api)))
    const headers = { host: 'a', 'content-type': type, 'content-length': '1000000', ...headersOf(target.token) }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    await inGroups(sockets, SENT_AT_ONCE, async (socket) => {
      socket.resume()
      const over = [once(socket, 'close'), new Promise((resolve) => setTimeout(resolve, SENT_MS))]
      const text = `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${'x'.repeat(bytes)}`
      await Promise.race([new Promise((resolve) => socket.write(text, resolve)), ...over])
    })
    return sockets
  }

  // Only an upload queries the database before its body is read.
  const paths = engine === 'embedded' ? WITHHELD : WITHHELD.slice(0, 1)
  test(`${CONNECTIONS} withheld bodies to ${paths.map(([path]) => path).join(', ')} are closed`, async () => {
    const measured = await target.measure(async () => {
      const sockets: Socket[] = []
      for (const withheld of paths) sockets.push(...(await withhold(withheld, CONNECTIONS / paths.length)))
      const closed = await closedBy(sockets, CLOSED_MS)
      for (const socket of sockets) socket.destroy()
      return closed
    })
    expect(measured.result).toBe(CONNECTIONS)
    expectHarmless(`${engine}: ${CONNECTIONS} withheld bodies to ${paths.length} paths`, measured)
  })

  // The following requests are refused before the database is queried.
  if (engine !== 'embedded') return

  test.each([
    ['20,000 mistyped ids', JSON.stringify({ justification: 'x', cve_ids: Array(20_000).fill(1) })],
    ['a megabyte of numbers', `{"justification":"x","cve_ids":[${'1,'.repeat(499_000)}1]}`],
    ['a megabyte of brackets', '['.repeat(1_000_000)],
    ['a megabyte of objects', `[${'{},'.repeat(330_000)}{}]`],
  ])('%s in a body are refused in a short answer', async (_, body) => {
    const measured = await target.measure(() =>
      fetch(`${target.api}/api/v1/security/packages/a/1/decide`, {
        method: 'POST',
        headers: { authorization: `Bearer ${target.token}`, 'content-type': 'application/json' },
        body,
      }).then(async (reply) => [reply.status, (await reply.text()).length] as const),
    )
    const [status, length] = measured.result
    expect(status).toBe(400)
    expect(length).toBeLessThan(5_000)
    expectHarmless(`${engine}: ${body.length} bytes of faults`, measured)
  })

  test('long paths are refused in the shape of all errors', async () => {
    for (const path of [`/artifacts/${'x'.repeat(3_000)}`, `/artifacts/${'x'.repeat(2_000)}`]) {
      const reply = await target.call('GET', path)
      expect([reply.status, reply.body.code]).toEqual([404, 'not_found'])
    }
    const patched = await target.call('PATCH', `/auth/users/${'x'.repeat(3_000)}`, { active: true })
    expect([patched.status, patched.body.code]).toEqual([404, 'not_found'])
  })

  test('a flood of unknown addresses is harmless', async () => {
    const measured = await target.measure(async () => {
      const flood = async () => {
        for (let i = 0; i < 200; i++) await fetch(`${target.api}/nowhere-${i}`).then((reply) => reply.text())
      }
      await Promise.all(Array.from({ length: 20 }, flood))
    })
    expectHarmless(`${engine}: 4,000 unknown addresses`, measured)
  })
})
