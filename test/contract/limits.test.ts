// Rate limits over HTTP, with the real figures and a clock that only the tests move.
import { afterAll, beforeEach, expect, test } from 'vitest'
import { ACCESS } from '../../src/domain/roles.ts'
import type { LimitName, Route } from '../../src/api/http/route.ts'
import { keyOf } from './declared.ts'
import { startGate } from './harness.ts'
import { wellFormed } from './routes/access.ts'

/** Requests per minute, and how they are counted (specification, "Limits"; decisions, section 1). */
const FIGURES: Record<Exclude<LimitName, 'none' | 'reads'>, { perMinute: number; per: 'address' | 'principal' }> = {
  login: { perMinute: 10, per: 'address' },
  credentials: { perMinute: 10, per: 'address' },
  webhook: { perMinute: 60, per: 'address' },
  upload: { perMinute: 20, per: 'principal' },
  publish: { perMinute: 300, per: 'principal' },
  enrol: { perMinute: 600, per: 'address' },
  import: { perMinute: 10, per: 'principal' },
  distributions: { perMinute: 5, per: 'principal' },
  stream: { perMinute: 30, per: 'principal' },
}

const gate = await startGate({ env: { RATE_LIMIT_FACTOR: '1' } })
afterAll(() => gate.close())
// Requests of earlier tests no longer count.
beforeEach(() => gate.clock.advance(61_000))

// Protocols have other bodies of errors.
const routes = gate.app.routes.filter(({ protocol }) => !protocol)
const admin = gate.people.admin
let nextAddress = 1
const newAddress = () => `198.51.100.${nextAddress++}`

interface From {
  as: string | null
  address?: string
}

/** Sends a request that is cheap to refuse, but still counts. */
async function knock(route: Route, { as, address = '127.0.0.1' }: From) {
  const { path, options } = wellFormed(route)
  return gate.call(route.method, path, {
    ...options,
    ...(route.body ? { body: 'nothing like it' } : {}),
    // Some streams end only with the credential.
    headOnly: route.answer === null,
    as,
    headers: { ...options.headers, 'x-forwarded-for': address },
  })
}

async function expectLimited(route: Route, from: From, limit: number, seconds: number) {
  const reply = await knock(route, from)
  expect(reply).toMatchObject({
    status: 429,
    ...(route.protocol ? {} : { body: { code: 'rate_limited', limit, retry_after: seconds } }),
    headers: { 'retry-after': String(seconds) },
  })
}

/** Five streams may be open at a time. Closed ones are removed a moment later, so a refusal because of them is possible too. */
const isForOpenStreams = (route: Route, { status, body }: { status: number; body: Record<string, unknown> }) =>
  route.answer === null && status === 429 && body['limit'] === 5

async function expectAdmitted(route: Route, from: From, times = 1) {
  for (let time = 0; time < times; time++) {
    const reply = await knock(route, from)
    if (!isForOpenStreams(route, reply)) expect(reply.status).not.toBe(429)
  }
}

/** Checks that the window slides: the oldest request expires first, and Retry-After says when. */
async function expectWindow(route: Route, from: From, limit: number) {
  await expectAdmitted(route, from)
  gate.clock.advance(20_000)
  await expectAdmitted(route, from, limit - 1)
  await expectLimited(route, from, limit, 40)
  gate.clock.advance(38_500)
  await expectLimited(route, from, limit, 2)
  gate.clock.advance(1_499)
  await expectLimited(route, from, limit, 1)
  gate.clock.advance(1)
  await expectAdmitted(route, from)
  await expectLimited(route, from, limit, 20)
}

const named = routes.flatMap((route) =>
  route.limit && route.limit !== 'none' && route.limit !== 'reads' ? [[keyOf(route), route.limit, route] as const] : [],
)
test.each(named)('%s is limited as %s', async (_, name, route) => {
  const { perMinute, per } = FIGURES[name]
  const twins = routes.filter(
    (other) => other !== route && other.limit === name && (other.access === 'public') === (route.access === 'public'),
  )
  const same = { as: route.access === 'public' ? null : admin.token, address: newAddress() }
  await expectWindow(route, same, perMinute)
  // Routes with the same limit share one count.
  for (const twin of twins) await expectLimited(twin, same, perMinute, 20)

  const elsewhere = { ...same, address: newAddress() }
  if (per === 'address') await expectAdmitted(route, elsewhere)
  else await expectLimited(route, elsewhere, perMinute, 20)
  if (route.access !== 'public') {
    const somebodyElse = { ...same, as: admin.session }
    if (per === 'principal') await expectAdmitted(route, somebodyElse)
    else await expectLimited(route, somebodyElse, perMinute, 20)
  }
})

test('every named limit of a route has a figure here; uploads and logins have their named limits', () => {
  expect(Object.keys(FIGURES)).toEqual(expect.arrayContaining(named.map(([, name]) => name)))
  const limits = Object.fromEntries(named.map(([key, name]) => [key, name]))
  expect(limits).toMatchObject({
    'POST /api/v1/auth/token': 'login',
    'POST /api/v1/upload': 'upload',
    'POST /api/v1/upload/stream': 'upload',
    'POST /api/v1/setup': 'credentials',
  })
  for (const route of routes) {
    if (/^\/(distributions|import)\//.test(route.path) && route.method === 'POST' && route.limit !== 'reads')
      expect([route.path, route.limit]).toEqual([route.path, route.path.split('/')[1]])
  }
})

const find = (key: string) => routes.find((route) => keyOf(route) === key) as Route

test('other routes use the limits of the role, for reads and writes apart: 200 and 30 for a reader', async () => {
  const [read, write] = [find('GET /api/v1/auth/me'), find('POST /api/v1/auth/users')]
  const reader = { as: gate.people.reader.token }
  await expectAdmitted(read, reader, 199)
  expect((await gate.call('HEAD', '/auth/me', { as: reader.as })).status).toBe(200)
  await expectLimited(read, reader, 200, 60)
  await expectLimited(find('GET /api/v1/artifacts'), { ...reader, address: newAddress() }, 200, 60)
  await expectAdmitted(write, reader, 30)
  await expectLimited(write, reader, 30, 60)
  await expectAdmitted(read, { as: gate.people.reader.session })
})

test('dry runs and plans are reads: they neither use up promotions nor wait for them', async () => {
  const maintainer = { as: gate.people.maintainer.token }
  const body = { package: 'nobody-has-this', from_dist: 'jammy', to_dist: 'noble' }
  const promote = (more: object) =>
    gate.call('POST', '/distributions/promote', { ...maintainer, body: { ...body, ...more } })
  const statuses = async (times: number, more: object) =>
    new Set(await Promise.all(Array.from({ length: times }, async () => (await promote(more)).status)))
  expect(await statuses(20, { dry_run: true })).toEqual(new Set([404]))
  expect(await statuses(5, {})).toEqual(new Set([404]))
  expect(await statuses(3, { dry_run: false })).toEqual(new Set([429]))
  expect(await statuses(20, { dry_run: true })).toEqual(new Set([404]))
  const plan = () => gate.call('POST', '/distributions/noble/installability/plan', { ...maintainer, body: {} })
  for (let time = 0; time < 6; time++) expect((await plan()).status).not.toBe(429)
  // A deletion reads `dry_run` from its query, whatever its body says.
  const remove = (query: string) =>
    gate.call('DELETE', `/artifacts/nobody-has-this${query}`, { ...maintainer, body: { dry_run: true } })
  const before = await Promise.all(Array.from({ length: 200 }, () => remove('')))
  expect(before.filter(({ status }) => status === 429)).toEqual([])
  expect((await remove('')).status).toBe(429)
  expect((await remove('?dry_run=true')).status).not.toBe(429)
})

test('anonymous callers have 60 requests per minute and address, including guesses of credentials', async () => {
  const address = newAddress()
  await expectAdmitted(find('GET /api/v1/auth/roles'), { as: null, address }, 30)
  await expectAdmitted(find('GET /api/v1/auth/me'), { as: 'svc_guess', address }, 29)
  await expectAdmitted(find('POST /api/v1/upload'), { as: null, address })
  for (const [key, as] of [
    ['GET /api/v1/auth/roles', null],
    ['GET /api/v1/auth/me', 'svc_guess'],
    ['POST /api/v1/upload', null],
  ] as const) {
    await expectLimited(find(key), { as, address }, 60, 60)
  }
  await expectAdmitted(find('GET /api/v1/auth/me'), { as: admin.token, address })
  await expectAdmitted(find('GET /api/v1/auth/roles'), { as: null, address: newAddress() })
})

test('health and metrics are never limited', async () => {
  const unlimited = routes.filter((route) => ROOT_PROBES.test(route.path))
  expect(unlimited.map((route) => route.path)).toEqual(
    expect.arrayContaining(['/health', '/health/live', '/health/ready', '/metrics']),
  )
  for (const route of unlimited) expect([route.path, route.limit]).toEqual([route.path, 'none'])
  const address = newAddress()
  await expectAdmitted(find('GET /health/live'), { as: null, address }, 100)
})
const ROOT_PROBES = /^\/(health|metrics)(\/|$)/

test('refused requests count, but requests over the limit do not lengthen the wait', async () => {
  const from = { as: gate.people.reader.token }
  const route = find('POST /api/v1/upload')
  expect(ACCESS['uploader+']).not.toContain('reader')
  await expectAdmitted(route, from, 20)
  for (let time = 0; time < 20; time++) await expectLimited(route, from, 20, 60)
  gate.clock.advance(60_000)
  await expectAdmitted(route, from, 20)
})
