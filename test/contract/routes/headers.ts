// Request and answer headers: request ids, CORS, security headers.
import { expect, test } from 'vitest'
import { keyOf } from '../declared.ts'
import type { Gate } from '../harness.ts'
import { wellFormed } from './access.ts'

const SECURITY = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': expect.stringMatching(/no-(store|cache)/),
  'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
}
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function headerContract(gate: Gate): void {
  const all = gate.app.routes.map((route) => [keyOf(route), route] as const)

  test.each(all)('%s sends a request id and the security headers', async (_, route) => {
    const { path, options } = wellFormed(route)
    for (const as of [null, gate.people.reader.token]) {
      const { headers } = await gate.call(route.method, path, {
        ...options,
        as,
        headOnly: true,
        headers: { ...options.headers, 'x-request-id': 'abc.DEF_1-2', 'x-forwarded-for': '203.0.113.4' },
      })
      expect(headers).toMatchObject({ ...SECURITY, 'x-request-id': 'abc.DEF_1-2' })
      expect(headers['strict-transport-security']).toBeUndefined()
      expect(headers['x-powered-by']).toBeUndefined()
      expect(headers['server']).toBeUndefined()
    }
  })

  test.each([
    ['is used when it is valid', 'Build-42.a_b', true],
    ['of 64 characters is used', 'a'.repeat(64), true],
    ['of 65 characters is replaced', 'a'.repeat(65), false],
    ['with a space is replaced', 'a b', false],
    ['with other characters is replaced', 'a/b', false],
    ['that is empty is replaced', '', false],
  ])('a request id %s', async (_, sent, kept) => {
    const { headers } = await gate.call('GET', '/auth/roles', { headers: { 'x-request-id': sent } })
    if (kept) expect(headers['x-request-id']).toBe(sent)
    else expect(headers['x-request-id']).toMatch(UUID)
  })

  test('every request without an id gets a unique one, also errors and unknown paths', async () => {
    const ids = new Set<unknown>()
    for (const path of ['/auth/roles', '/auth/me', '/nothing', '/artifacts/%ff', '/health/live']) {
      const { headers } = await gate.call('GET', path, { as: null })
      expect(headers['x-request-id']).toMatch(UUID)
      ids.add(headers['x-request-id'])
    }
    expect(ids.size).toBe(5)
  })

  const ALLOWED = 'http://localhost:3003'
  const cors = (headers: Record<string, unknown>) =>
    Object.keys(headers).filter((name) => name.startsWith('access-control'))

  test('an allowed origin may read answers, including errors', async () => {
    for (const path of ['/auth/roles', '/auth/me', '/nothing', '/artifacts/%ff']) {
      const { headers } = await gate.call('GET', path, { as: null, headers: { origin: ALLOWED } })
      expect([path, headers]).toMatchObject([path, { 'access-control-allow-origin': ALLOWED, vary: 'Origin' }])
      for (const name of ['X-Request-ID', 'Retry-After', 'X-Package-Status'])
        expect(headers['access-control-expose-headers']).toContain(name)
    }
  })

  test.each([
    'http://localhost:3004',
    'https://localhost:3003',
    'http://localhost',
    'http://localhost:3003.example.org',
    'null',
    '*',
    `${ALLOWED}/`,
  ])('the origin %s may not read answers', async (origin) => {
    for (const method of ['GET', 'OPTIONS']) {
      const { headers } = await gate.call(method, '/auth/roles', {
        as: null,
        headers: { origin, 'access-control-request-method': 'GET' },
      })
      expect(cors(headers).filter((name) => name.endsWith('origin') || name.endsWith('credentials'))).toEqual([])
      expect(headers.vary).toContain('Origin')
    }
  })

  test('a preflight of an allowed origin is answered without a credential, for every route', async () => {
    for (const [key, route] of all) {
      const { path } = wellFormed(route)
      const reply = await gate.call('OPTIONS', path, {
        as: null,
        headers: {
          origin: ALLOWED,
          'access-control-request-method': route.method,
          'access-control-request-headers': 'authorization,content-type',
        },
      })
      expect([key, reply.status, reply.text, reply.headers['access-control-allow-origin']]).toEqual([
        key,
        204,
        '',
        ALLOWED,
      ])
      expect(reply.headers['access-control-allow-methods']).toContain(route.method)
      expect(String(reply.headers['access-control-allow-headers']).toLowerCase()).toMatch(/authorization.*content-type/)
    }
  })
}
