// The steps every request passes, tested with routes of its own, so that all flags are covered.
import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Caller } from '../../domain/caller.ts'
import type { Scopes } from '../../domain/scopes.ts'
import { Problem } from '../../domain/problem.ts'
import { createLog } from '../../kernel/log.ts'
import { createRateLimiter } from './limits.ts'
import { openapi } from '../openapi/document.ts'
import { route, type Route } from './route.ts'
import { createServer, withoutExtraPrefix } from '../server.ts'

const common = { tag: 'test', summary: 'a route of this test', answer: null, problems: [] } as const
let ran: string[]
const scoped = {
  ...common,
  path: '/scoped/{name}',
  params: Type.Object({ name: Type.String() }),
  query: Type.Object({ distribution: Type.Optional(Type.String()) }),
  handle: async () => ({ ran: ran.push('scoped') }),
}
const routes: Route[] = [
  route({
    ...common,
    method: 'GET',
    path: '/plain',
    access: 'reader+',
    handle: async () => ({ ran: ran.push('plain') }),
  }),
  route({
    ...common,
    method: 'GET',
    path: '/paid',
    access: 'reader+',
    flags: { enterprise: 'sbom' },
    handle: async () => ({ ran: ran.push('paid') }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/led',
    access: 'maintainer+',
    flags: { leaderOnly: true },
    handle: async () => ({ ran: ran.push('led') }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/queued',
    access: 'maintainer+',
    flags: { needsLeader: true },
    handle: async () => ({ ran: ran.push('queued') }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/personal',
    access: 'reader+',
    flags: { sessionOnly: true },
    handle: async () => ({ ran: ran.push('personal') }),
  }),
  route({
    ...common,
    method: 'GET',
    path: '/drafts',
    access: 'public',
    flags: { developmentOnly: true, hidden: true },
    handle: async () => ({ ran: ran.push('drafts') }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/webhooks/raw',
    root: true,
    access: 'public',
    limit: 'webhook',
    flags: { rawBody: true },
    handle: async ({ raw }) => ({ bytes: (raw.body as Buffer).toString('latin1') }),
  }),
  route({
    ...common,
    method: 'PUT',
    path: '/things/{id}',
    access: 'admin',
    success: 201,
    params: Type.Object({ id: Type.Integer({ minimum: 1 }) }),
    body: Type.Object({ size: Type.Integer({ default: 7 }) }),
    handle: async ({ params, body }) => ({ id: params.id, size: body.size }),
  }),
  route({
    ...common,
    method: 'GET',
    path: '/things/special',
    access: 'public',
    handle: async () => ({ ran: ran.push('special') }),
  }),
  route({ ...scoped, method: 'GET', access: 'reader+' }),
  route({ ...scoped, method: 'PUT', access: 'admin' }),
  route({ ...scoped, method: 'POST', access: 'reader+', action: 'never' }),
  route({ ...scoped, method: 'PATCH', access: 'reader+', action: 'always' }),
  route({
    ...scoped,
    method: 'DELETE',
    access: 'maintainer+',
    action: 'delete',
    targets: ({ params, query }) => [{ name: params.name, distribution: query.distribution }],
  }),
  route({
    ...common,
    method: 'GET',
    path: '/broken',
    access: 'public',
    handle: async () => {
      throw new Error('the table of /somewhere is gone')
    },
  }),
]

const callerOf = (kind: Caller['kind'], role: Caller['role']): Caller => ({
  kind,
  name: `${kind} ${role}`,
  role,
  ownerId: 1,
  credentialId: 'c',
  principal: `${kind}:${role}`,
})

let app: FastifyInstance
let now: { leads: boolean; led: boolean; lacks: string | null; accepts: boolean; production: boolean }
let denied: string[]
let observed: { method: string; path: string; status: number }[]
let lines: Record<string, unknown>[]

async function start(production = false): Promise<void> {
  app = await createServer({
    routes,
    log: createLog('error', { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
    production,
    trustedProxies: ['127.0.0.1'],
    corsOrigins: [],
    limiter: createRateLimiter({ now: () => new Date(0) }),
    authenticate: async (header) => {
      const [, kind, role, scopes] = /^Bearer (session|token) (\w+) ?(.*)$/.exec(header ?? '') ?? []
      if (header === 'Bearer unreadable') throw new Error('the database is gone')
      if (!kind) throw new Problem('unauthorized', 'a valid credential is needed')
      const caller = callerOf(kind as Caller['kind'], role as Caller['role'])
      return scopes ? { ...caller, scopes: JSON.parse(scopes) as Scopes } : caller
    },
    requireFeature(feature) {
      if (now.lacks === feature)
        throw new Problem('feature_unavailable', 'not in this edition', { feature, edition: 'community' })
    },
    leads: async () => now.leads,
    hasLeader: async () => now.leads || now.led,
    keptAnswers: { begin: async () => ({ state: 'running' }), clean: async () => {} },
    formatOf: (codename) => ({ one: 'f', two: 'g' })[codename] ?? null,
    accepting: () => now.accepts,
    observe: ({ method, path, status }) => void observed.push({ method, path, status }),
    denied: async (_request, caller, { method, path }) => void denied.push(`${caller.name}: ${method} ${path}`),
  })
}

beforeEach(async () => {
  ran = []
  denied = []
  observed = []
  lines = []
  now = { leads: true, led: true, lacks: null, accepts: true, production: false }
  await start()
})
afterEach(() => app.close())

async function ask(
  method: string,
  url: string,
  who?: string,
  more: { payload?: string | Buffer; headers?: Record<string, string> } = {},
) {
  const reply = await app.inject({
    method: method as 'GET',
    url,
    ...more,
    headers: { ...(who ? { authorization: `Bearer ${who}` } : {}), ...more.headers },
  })
  return {
    status: reply.statusCode,
    headers: reply.headers,
    body: reply.body === '' ? {} : reply.json<Record<string, unknown>>(),
  }
}

describe('a token with scopes', () => {
  const things = [
    ['GET', 'read'],
    ['PUT', 'of admins'],
    ['DELETE', 'delete'],
    ['POST', 'never'],
    ['PATCH', 'always'],
  ] as const
  const withScopes = (scopes: Scopes) => `token admin ${JSON.stringify(scopes)}`
  const statuses = async (scopes: Scopes, query = '') => {
    const answers: Record<string, number> = {}
    for (const [method, what] of things)
      answers[what] = (await ask(method, `/api/v1/scoped/lib${query}`, withScopes(scopes))).status
    return answers
  }
  const all = { read: 200, 'of admins': 200, delete: 200, never: 403, always: 200 }
  const none = { read: 403, 'of admins': 403, delete: 403, never: 403, always: 200 }

  test.each<[Scopes, string, object]>([
    [{ actions: ['read', 'manage', 'delete'] }, '', all],
    [{ actions: ['upload'] }, '', none],
    [{ actions: ['read'] }, '', { ...none, read: 200 }],
    [{ actions: ['manage'] }, '', { ...none, 'of admins': 200 }],
    [{ names: ['lib*'] }, '', { ...all, 'of admins': 403 }],
    [{ names: ['other'] }, '', { ...none, read: 200 }],
    [{ distributions: ['one'] }, '', { ...none, read: 200 }],
    [{ distributions: ['one'] }, '?distribution=one', { ...all, 'of admins': 403 }],
    [{ distributions: ['one'] }, '?distribution=two', { ...none, read: 200 }],
    [{ formats: ['f'] }, '?distribution=one', { ...all, 'of admins': 403 }],
    [{ formats: ['f'] }, '?distribution=two', { ...none, read: 200 }],
    [{ formats: ['f'] }, '?distribution=unknown', { ...none, read: 200 }],
  ])('%j, query %j', async (scopes, query, expected) => {
    expect(await statuses(scopes, query)).toEqual(expected)
  })

  test('may never do more than its role, and each refused write is audited once', async () => {
    const reader = `token reader ${JSON.stringify({ actions: ['delete'] })}`
    expect(await ask('DELETE', '/api/v1/scoped/lib', reader)).toMatchObject({ status: 403 })
    expect(await ask('DELETE', '/api/v1/scoped/lib', withScopes({ names: ['x'] }))).toMatchObject({
      status: 403,
      body: { code: 'forbidden', detail: 'this token may not do this: its scopes allow the names x, and this is lib' },
    })
    expect(await ask('GET', '/api/v1/scoped/lib', withScopes({ actions: ['upload'] }))).toMatchObject({ status: 403 })
    expect(ran).toEqual([])
    expect(denied).toEqual(['token reader: DELETE /scoped/{name}', 'token admin: DELETE /scoped/{name}'])
  })
})

describe('flags', () => {
  test('a feature missing from the edition answers 402 with its name, after the role check', async () => {
    expect(await ask('GET', '/api/v1/paid', 'session reader')).toMatchObject({ status: 200 })
    now.lacks = 'sbom'
    expect(await ask('GET', '/api/v1/paid', 'session reader')).toMatchObject({
      status: 402,
      body: { code: 'feature_unavailable', feature: 'sbom', edition: 'community' },
    })
    expect(await ask('GET', '/api/v1/paid')).toMatchObject({ status: 401 })
    expect(ran).toEqual(['paid'])
  })

  test('a passive replica answers 503 with Retry-After on leader-only routes', async () => {
    now.leads = false
    const reply = await ask('POST', '/api/v1/led', 'token maintainer')
    expect(reply).toMatchObject({ status: 503, body: { code: 'passive_replica' }, headers: { 'retry-after': '5' } })
    expect(await ask('GET', '/api/v1/plain', 'token reader')).toMatchObject({ status: 200 })
    expect(ran).toEqual(['plain'])
  })

  test('a passive replica queues work for the leader, as long as there is one', async () => {
    now.leads = false
    expect(await ask('POST', '/api/v1/queued', 'token maintainer')).toMatchObject({ status: 200 })
    now.led = false
    expect(await ask('POST', '/api/v1/queued', 'token maintainer')).toMatchObject({
      ...{ status: 503, body: { code: 'passive_replica' }, headers: { 'retry-after': '5' } },
    })
    expect(ran).toEqual(['queued'])
  })

  test('an API token is refused on session-only routes', async () => {
    expect(await ask('POST', '/api/v1/personal', 'token admin')).toMatchObject({
      status: 403,
      body: { code: 'session_required' },
    })
    expect(await ask('POST', '/api/v1/personal', 'session reader')).toMatchObject({ status: 200 })
    expect(denied).toEqual([])
  })

  test('a refused write is audited, a refused read is not', async () => {
    expect(await ask('POST', '/api/v1/led', 'session auditor')).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
    expect(await ask('PUT', '/api/v1/things/1', 'token maintainer')).toMatchObject({ status: 403 })
    expect(denied).toEqual(['session auditor: POST /led', 'token maintainer: PUT /things/{id}'])
    expect(ran).toEqual([])
  })

  test('a raw body arrives byte for byte, valid JSON or not', async () => {
    for (const payload of ['{"a": 1 }', '{"broken', '']) {
      const reply = await ask('POST', '/webhooks/raw', undefined, {
        payload,
        headers: { 'content-type': 'application/json' },
      })
      expect(reply).toMatchObject({ status: 200, body: { bytes: payload } })
    }
  })

  test('development routes do not exist in production, not even as 405; hidden routes are in no document', async () => {
    expect(await ask('GET', '/api/v1/drafts')).toMatchObject({ status: 200 })
    expect(await ask('POST', '/api/v1/drafts')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
    await app.close()
    await start(true)
    for (const method of ['GET', 'HEAD', 'POST']) expect((await ask(method, '/api/v1/drafts')).status).toBe(404)
    expect(Object.keys((openapi(routes, { version: 'x' }) as { paths: object }).paths)).not.toContain('/api/v1/drafts')
  })
})

test('a stopping service answers 503 to everything except health requests', async () => {
  now.accepts = false
  expect(await ask('GET', '/api/v1/plain', 'session reader')).toMatchObject({
    status: 503,
    body: { code: 'shutting_down' },
    headers: { 'retry-after': '5', connection: 'close' },
  })
  expect(await ask('GET', '/nothing')).toMatchObject({ status: 503 })
})

test('public routes are answered even when the credential cannot be checked', async () => {
  const headers = { authorization: 'Bearer unreadable' }
  expect(await ask('GET', '/api/v1/things/special', undefined, { headers })).toMatchObject({ status: 200 })
  expect(await ask('GET', '/api/v1/plain', undefined, { headers })).toMatchObject({
    status: 500,
    body: { code: 'internal_error' },
  })
})

test('path and body are validated; strings are converted to numbers in paths, never in bodies', async () => {
  const put = (url: string, payload: unknown) =>
    ask('PUT', url, 'session admin', {
      payload: JSON.stringify(payload),
      headers: { 'content-type': 'application/json' },
    })
  expect(await put('/api/v1/things/3', {})).toMatchObject({ status: 201, body: { id: 3, size: 7 } })
  expect(await put('/api/v1/things/3', { size: '8' })).toMatchObject({
    status: 400,
    body: { errors: [{ field: 'size' }] },
  })
  expect(await put('/api/v1/things/0', {})).toMatchObject({ status: 400, body: { errors: [{ field: 'id' }] } })
  expect(await put('/api/v1/things/three', {})).toMatchObject({ status: 400, body: { errors: [{ field: 'id' }] } })
  expect(await ask('GET', '/api/v1/things/special')).toMatchObject({ status: 200 })
  expect(await ask('GET', '/api/v1/things/3')).toMatchObject({ status: 405, headers: { allow: 'PUT' } })
})

test.each([
  ['{"size":1,"note":"a\\u0000b"}', 'note'],
  ['{"size":1,"deep":{"er":["\\ud800"]}}', 'body'],
  ['{"size":1,"\\udc00":1}', 'body'],
])('a string that no database stores is refused with the name of its field: %s', async (payload, field) => {
  const reply = await ask('PUT', '/api/v1/things/3', 'session admin', {
    payload,
    headers: { 'content-type': 'application/json' },
  })
  expect(reply).toMatchObject({ status: 400, body: { code: 'validation_error', errors: [{ field }] } })
})

test('an unexpected error is logged with its details under the request id and answered with a fixed sentence', async () => {
  const reply = await ask('GET', '/api/v1/broken', undefined, { headers: { 'x-request-id': 'r-77' } })
  expect(reply).toMatchObject({ status: 500, body: { code: 'internal_error', request_id: 'r-77' } })
  expect(JSON.stringify(reply.body)).not.toContain('table')
  expect(lines).toMatchObject([{ request_id: 'r-77', err: { message: 'the table of /somewhere is gone' } }])
})

test('metrics count requests by path template, and unknown paths together', async () => {
  await ask('PUT', '/api/v1/things/3', 'session admin', {
    payload: '{}',
    headers: { 'content-type': 'application/json' },
  })
  await ask('GET', '/api/v1/things/99999')
  await ask('GET', '/wp-login.php')
  expect(observed).toEqual([
    { method: 'PUT', path: '/api/v1/things/{id}', status: 201 },
    { method: 'GET', path: 'other', status: 405 },
    { method: 'GET', path: 'other', status: 404 },
  ])
})

test.each([
  ['/api/api/v1/x', '/api/v1/x'],
  ['/api/health', '/health'],
  ['/api/health/ready?x=/api', '/health/ready?x=/api'],
  ['/api/metrics', '/metrics'],
  ['/api/webhooks/vcs', '/webhooks/vcs'],
  ['/api/v1/x', '/api/v1/x'],
  ['/api/docs', '/api/docs'],
  ['/health', '/health'],
  ['/apix/api/v1', '/apix/api/v1'],
])('without the extra prefix %s is %s', (url, rest) => expect(withoutExtraPrefix(url)).toBe(rest))
