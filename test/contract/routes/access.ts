// Credentials and roles, for each declared route.
import { expect, test } from 'vitest'
import { ACCESS, ROLES, type Role } from '../../../src/domain/roles.ts'
import type { Route } from '../../../src/api/http/route.ts'
import { keyOf, givenBy } from '../declared.ts'
import { startGate, type CallOptions, type Gate } from '../harness.ts'
import { addressOf, neededQuery, valueFor } from '../schema-values.ts'

/** A valid request for the route. Multipart routes get a form without a file. */
export function wellFormed(route: Route): { path: string; options: CallOptions } {
  const query = neededQuery(route).toString()
  const path = addressOf(route) + (query ? `?${query}` : '')
  if (route.flags?.multipart)
    return {
      path,
      options: { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: Buffer.from('--x--\r\n') },
    }
  return { path, options: route.body ? { body: valueFor(route.body) } : {} }
}

export function accessContract(gate: Gate, credentials: [string, string | null][]): void {
  // Protocols of others have errors of their own, and suites of their own.
  const routes = gate.app.routes.filter(({ protocol }) => !protocol)
  const closed = routes.filter((route) => route.access !== 'public').map((route) => [keyOf(route), route] as const)
  const open = routes
    .filter((route) => route.access === 'public' && !givenBy(route).has('unauthorized'))
    .map((route) => [keyOf(route), route] as const)
  const call = (route: Route, as: string | null, headers: Record<string, string> = {}, headOnly = false) => {
    const { path, options } = wellFormed(route)
    return gate.call(route.method, path, { ...options, as, headers: { ...options.headers, ...headers }, headOnly })
  }

  test.each(closed)('%s refuses every invalid credential', async (_, route) => {
    for (const [what, authorization] of credentials) {
      const reply = await call(route, null, authorization === null ? {} : { authorization })
      expect([what, reply.status, reply.body['code'], reply.headers['www-authenticate']]).toEqual([
        what,
        401,
        'unauthorized',
        'Bearer',
      ])
      expect(Object.keys(reply.body).sort()).toEqual(['code', 'detail'])
    }
  })

  test.each(closed)('%s answers 401 before it checks the input', async (_, route) => {
    if (route.method === 'GET') return
    const reply = await gate.call(route.method, addressOf(route), {
      as: null,
      body: Buffer.from('{"broken'),
      headers: { 'content-type': 'application/json' },
    })
    expect(reply.status).toBe(401)
  })

  test.each(open)('%s treats an invalid credential like none', async (_, route) => {
    const { status } = await call(route, 'garbage', { 'x-forwarded-for': '203.0.113.1' }, true)
    expect([401, 403]).not.toContain(status)
  })

  test.each(closed)('%s refuses every other role and audits a refused write', async (_, route) => {
    const allowed: readonly Role[] = ACCESS[route.access as keyof typeof ACCESS]
    for (const role of ROLES.filter((role) => !allowed.includes(role))) {
      const { session, token, username } = gate.people[role]
      for (const [as, user] of [
        [session, username],
        [token, `token:${role}-robot`],
      ] as const) {
        const reply = await call(route, as, { 'x-request-id': `denied-${role}` })
        expect([role, reply.status, reply.body['code']]).toEqual([role, 403, 'forbidden'])
        const { body } = await gate.call<{ items: object[] }>(
          'GET',
          `/artifacts/audit/logs?action=ACCESS_DENIED&per_page=1&user=${encodeURIComponent(user)}`,
        )
        const entry = {
          action: 'ACCESS_DENIED',
          result: 'FAILURE',
          user,
          outcome: 'forbidden',
          detail: `${route.method} ${route.path}`,
          request_id: `denied-${role}`,
          ip: '127.0.0.1',
        }
        if (route.method !== 'GET') expect(body.items).toMatchObject([entry])
        else expect(body.items).not.toMatchObject([entry])
      }
    }
  })

  test.each(closed)('%s admits each of its roles, by session and by API token', async (_, route) => {
    for (const role of ACCESS[route.access as keyof typeof ACCESS]) {
      const { username, token } = gate.people[role]
      // Some routes end the session of their caller.
      const session = route.method === 'GET' ? gate.people[role].session : await gate.login(username)
      const streams = route.answer === null
      const byPerson = await call(route, session, {}, streams)
      expect([401, 403], `${role}: ${byPerson.text}`).not.toContain(byPerson.status)
      const byRobot = await call(route, token, {}, streams)
      if (route.flags?.sessionOnly) expect([byRobot.status, byRobot.body['code']]).toEqual([403, 'session_required'])
      else expect([401, 403], `${role}: ${byRobot.text}`).not.toContain(byRobot.status)
    }
  })

  test('a session is refused while its user is disabled', async () => {
    const { session, username } = gate.people.reader
    await gate.call('PATCH', `/auth/users/${username}`, { body: { active: false } })
    expect((await gate.call('GET', '/auth/me', { as: session })).status).toBe(401)
    await gate.call('PATCH', `/auth/users/${username}`, { body: { active: true } })
    expect((await gate.call('GET', '/auth/me', { as: session })).status).toBe(200)
  })

  test('a changed role applies from the next request', async () => {
    const { session, username } = gate.people.reader
    await gate.call('PATCH', `/auth/users/${username}`, { body: { role: 'auditor' } })
    expect((await gate.call('GET', '/artifacts/audit/logs', { as: session })).status).toBe(200)
    await gate.call('PATCH', `/auth/users/${username}`, { body: { role: 'reader' } })
    expect((await gate.call('GET', '/artifacts/audit/logs', { as: session })).status).toBe(403)
  })

  const enterprise = routes.filter((route) => route.flags?.enterprise)
  test.runIf(enterprise.length > 0)(
    'the community edition answers 402 on routes of the enterprise edition',
    async () => {
      const community = await startGate({ env: { SVC_EDITION: 'community' } })
      try {
        for (const route of enterprise) {
          const { path, options } = wellFormed(route)
          const reply = await community.call(route.method, path, options)
          expect([keyOf(route), reply.status, reply.body]).toMatchObject([
            keyOf(route),
            402,
            { code: 'feature_unavailable', feature: route.flags?.enterprise, edition: 'community' },
          ])
        }
      } finally {
        await community.close()
      }
    },
  )
}
