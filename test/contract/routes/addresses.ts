// Paths: slashes, prefixes, encodings, unknown paths, and methods that a path does not allow.
import { expect, test } from 'vitest'
import { pathOf } from '../../../src/api/http/paths.ts'
import type { Route } from '../../../src/api/http/route.ts'
import { buildDeb } from '../../samples/deb.ts'
import { findRoute, keyOf } from '../declared.ts'
import type { Gate } from '../harness.ts'
import { send } from '../http.ts'
import { wellFormed } from './access.ts'
import { addressOf, neededQuery } from '../schema-values.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export function addressContract(gate: Gate): void {
  // Protocols of others have errors of their own, and suites of their own.
  const routes = gate.app.routes.filter(({ protocol }) => !protocol)
  const all = routes.map((route) => [keyOf(route), route] as const)
  /** Sends no credential to closed routes: the answer shows which route it is without running the handler. */
  const reach = async (route: Route, path: string) => {
    const { options } = wellFormed(route)
    const reply = await gate.call(route.method, path, {
      ...options,
      as: null,
      headOnly: route.answer === null,
      headers: { ...options.headers, 'x-forwarded-for': '203.0.113.3' },
    })
    return [reply.status, reply.body['code']]
  }

  test.each(all)('%s answers alike with and without a trailing slash, without a redirect', async (_, route) => {
    const { path } = wellFormed(route)
    const [bare = '', query] = path.split('?')
    const slashed = `${bare}/${query === undefined ? '' : `?${query}`}`
    const [first, second] = [await reach(route, path), await reach(route, slashed)]
    expect(second).toEqual(first)
    expect([301, 302, 307, 308, 404, 405]).not.toContain(first[0])
  })

  test.each(all.filter(([, route]) => !route.root || /^\/(health|metrics|webhooks)/.test(route.path)))(
    '%s accepts one extra leading /api, not two',
    async (_, route) => {
      const { path } = wellFormed(route)
      expect(await reach(route, `/api${path}`)).toEqual(await reach(route, path))
      const twice = await send(gate.port, { method: route.method, path: `/api/api${path}` })
      expect([twice.status, twice.body['code']]).toEqual([404, 'not_found'])
    },
  )

  test.each([...new Set(routes.map(pathOf))].map((path) => [path]))(
    '%s answers other methods with 405 and the allowed ones',
    async (path) => {
      const here = routes.filter((route) => pathOf(route) === path)
      const concrete = addressOf(here[0] as Route)
      const taken = METHODS.filter((method) => findRoute(routes, method, concrete))
      for (const method of METHODS.filter((method) => !taken.includes(method))) {
        const reply = await gate.call(method, concrete)
        expect([method, reply.status, reply.body['code']]).toEqual([method, 405, 'method_not_allowed'])
        const allowed = reply.headers.allow?.split(', ').sort()
        expect(allowed).toEqual([...taken, ...(taken.includes('GET') ? ['HEAD'] : [])].sort())
        expect(reply.body['allow']).toEqual(reply.headers.allow?.split(', '))
      }
    },
  )

  test.each(routes.filter((route) => route.method === 'GET').map((route) => [keyOf(route), route] as const))(
    'HEAD answers like %s, without the body',
    async (_, route) => {
      const { path } = wellFormed(route)
      const get = await gate.call('GET', path, { headOnly: true })
      const head = await gate.call('HEAD', path)
      expect([head.status, head.text]).toEqual([get.status, ''])
      expect(head.headers['content-type']).toBe(get.headers['content-type'])
      expect((await gate.call('HEAD', path, { as: 'garbage' })).status).toBe(
        (await gate.call('GET', path, { as: 'garbage', headOnly: true })).status,
      )
    },
  )

  test.each([
    ['/api/v1/nothing', 404, 'not_found'],
    ['/api/v1', 404, 'not_found'],
    ['/api/v1/', 404, 'not_found'],
    ['/api/v1/auth/users/x/y/z', 404, 'not_found'],
    ['/', 404, 'not_found'],
    ['/favicon.ico', 404, 'not_found'],
    ['/api/v2/artifacts', 404, 'unknown_api_version'],
    ['/api/v2', 404, 'unknown_api_version'],
    ['/api/api/v2/artifacts', 404, 'unknown_api_version'],
    ['/api/v10/auth/me?x=1', 404, 'unknown_api_version'],
    ['/api/v1x/auth/me', 404, 'not_found'],
    ['/API/V1/auth/roles', 404, 'not_found'],
    ['/api/v1/AUTH/roles', 404, 'not_found'],
    ['/api/v1/auth/roles/../roles', 404, 'not_found'],
    ['//api/v1/auth/roles', 404, 'not_found'],
    ['/api/v1//auth/roles', 404, 'not_found'],
    ['/api/v1/auth%2froles', 404, 'not_found'],
    ['/api/artifacts', 404, 'not_found'],
    ['/api/docs', 404, 'not_found'],
    ['/api/healthy', 404, 'not_found'],
    ['/v1/auth/roles', 404, 'not_found'],
  ])('%s answers %i %s', async (path, status, code) => {
    for (const method of METHODS) {
      const reply = await send(gate.port, { method, path })
      expect([method, reply.status, reply.body['code']]).toEqual([method, status, code])
      expect(reply.headers['content-type']).toMatch(/^application\/json/)
    }
  })

  test('names and versions are decoded once and compared in full', async () => {
    const version = '1:2.0+b1~rc1-1'
    expect((await gate.upload(await buildDeb({ name: 'odd+name', version }), { distribution: 'jammy' })).status).toBe(
      201,
    )
    const status = async (path: string, method = 'GET') => (await gate.call(method, path)).status
    expect(await status('/artifacts/odd%2Bname')).toBe(200)
    expect(await status('/artifacts/odd+name')).toBe(200)
    expect(await status('/artifacts/%6f%64%64+name')).toBe(200)
    expect(await status('/artifacts/odd%252Bname')).toBe(404)
    expect(await status('/artifacts/odd')).toBe(404)
    expect(await status('/artifacts/odd%20name')).toBe(404)
    expect(await status('/artifacts/ODD+name')).toBe(404)
    expect(await status(`/artifacts/odd+name/dependencies?version=${encodeURIComponent(version)}`)).toBe(200)
    expect(await status('/artifacts/odd+name/2.0+b1~rc1-1', 'DELETE')).toBe(404)
    expect(await status('/artifacts/odd+name/1%3A2.0%2Bb1%7Erc1', 'DELETE')).toBe(404)
    expect(await status('/artifacts/odd+name/1%3A2.0%2Bb1%7Erc1-1', 'DELETE')).toBe(200)
    expect(await status('/artifacts/odd+name')).toBe(404)
  })

  test('a literal route wins over a parameter', async () => {
    const logs = findRoute(routes, 'GET', '/api/v1/artifacts/audit/logs')
    expect(logs?.path).toBe('/artifacts/audit/logs')
    expect((await gate.call('GET', '/artifacts/audit/logs')).body).toHaveProperty('per_page', 100)
    expect(neededQuery(logs as Route).toString()).toBe('')
  })
}
