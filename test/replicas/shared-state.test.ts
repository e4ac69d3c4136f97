// Two services that share PostgreSQL, a directory and Redis: their shared state, with and without Redis.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createInstallations, type Installation, type Installations } from '../crash/installations.ts'
import { examine, waitFor } from '../crash/state.ts'
import { openEventStream } from '../event-stream.ts'
import { addSource, startAptUpstream, type AptUpstream } from '../gate/apt-upstream.ts'
import { buildDeb } from '../samples/deb.ts'
import { startService, type Service } from '../service.ts'
import { REDIS_PASSWORD, startRedis, type RedisServer } from './redis-server.ts'

/** The limits of requests: three times the documented ones. */
const FACTOR = 3

let installations: Installations
let installation: Installation
let redis: RedisServer
let upstream: AptUpstream
let services: [Service, Service]
beforeAll(async () => {
  ;[installations, redis, upstream] = await Promise.all([
    createInstallations('postgres'),
    startRedis(),
    startAptUpstream(),
  ])
  installation = await installations.copy()
  // The first is the leader.
  services = [await start(), await start()]
  await bothReport('redis')
})
afterAll(async () => {
  for (const service of services) await service.kill()
  await upstream?.close()
  await redis?.remove()
  await installations?.remove()
})

const start = () =>
  startService({
    ...installation,
    env: {
      ...installation.env,
      REDIS_URL: redis.url,
      JOB_STATE_BACKEND: 'redis',
      RATE_LIMIT_FACTOR: String(FACTOR),
      BACKUP_DIR: `${installation.directory}/backups`,
    },
  })
const [LEADER, OTHER] = [0, 1] as const
const tasksOf = async (service: Service) => (await service.call('GET', '/tasks/?per_page=200')).body.items as unknown[]
const info = async (service: Service) => (await service.call('GET', '/health')).body.checks.info

async function bothReport(backend: 'redis' | 'local'): Promise<void> {
  for (const service of services)
    await waitFor(`the state in ${backend}`, async () => {
      const { ha, cache_backend: cache } = await info(service)
      const kinds = ['scan', 'install', 'mirror', 'sync', 'sse', 'logs']
      expect(Object.keys(ha.job_state_backend)).toEqual(kinds)
      return (
        kinds.every((kind) => ha.job_state_backend[kind] === backend) &&
        cache.backend === (backend === 'redis' ? 'redis' : 'memory')
      )
    })
}

/** Requests of one client to both replicas in turn, at the same time. @returns the number that the limit admitted */
async function admitted(requests: number, client: string): Promise<number> {
  const body = { token: 'x'.repeat(40), new_password: 'Another-pass-1' }
  const replies = await Promise.all(
    Array.from({ length: requests }, (_, n) =>
      fetch(`${services[n % 2 === 0 ? LEADER : OTHER].api}/api/v1/auth/reset-password`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': client },
        body: JSON.stringify(body),
      }),
    ),
  )
  for (const { status } of replies) expect([400, 401, 429]).toContain(status)
  return replies.filter(({ status }) => status !== 429).length
}

it('a limit is one budget of both replicas', async () => {
  // On a machine that stalls, Redis answers too late or the minute passes: then another client tries again.
  let count = 0
  for (let n = 1; n <= 5 && count !== 10 * FACTOR; n++) count = await admitted(50, `192.0.2.${n}`)
  expect(count).toBe(10 * FACTOR)
})

it('a passive replica refuses imports and serves the rest', async () => {
  const { status, body, headers } = await services[OTHER].call('POST', '/import/sync', {})
  expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'passive_replica', '5'])
  const upload = await services[OTHER].upload(await buildDeb({ name: 'passive' }), 'a.deb', { distribution: 'jammy' })
  expect(upload.status).toBe(201)
})

it.each([
  ['/distributions/init', {}],
  ['/backup', {}],
  ['/artifacts/admin/sync-index', {}],
  ['/security/vulnscan/feeds/refresh', {}],
  ['/settings/run-retention', { dry_run: true }],
  ['/settings/gpg/generate', { rotate: true }],
])('the leader does what a passive replica was asked for: %s', async (path, body) => {
  const before = (await tasksOf(services[LEADER])).length
  const { status, body: answer } = await services[OTHER].call('POST', path, body)
  expect([200, 201], JSON.stringify(answer)).toContain(status)
  expect((await tasksOf(services[LEADER])).length).toBeGreaterThan(before)
})

it('a key that the leader made is the one that the other shows', async () => {
  const [one, other] = await Promise.all(services.map((service) => service.call('GET', '/settings/gpg')))
  expect(one?.body.keys).toHaveLength(1)
  expect(other?.body).toEqual(one?.body)
})

it('what one replica has made for a key, the other does not make again', async () => {
  const ask = (service: Service) =>
    service.call('POST', '/auth/api-tokens', { name: 'once' }, { 'idempotency-key': 'one-key' })
  const replies = await Promise.all(services.map(ask))
  expect(replies.map(({ status }) => status).sort()[0]).toBe(201)
  const [first, second] = [await ask(services[LEADER]), await ask(services[OTHER])]
  expect([first.status, second.status]).toEqual([201, 201])
  expect(second.body.token).toBe(first.body.token)
})

it('a decision that one replica made is undone by the other, which is passive', async () => {
  const unscanned = (on_unscanned: string) =>
    services[LEADER].call('PATCH', '/settings/', { validation: { on_unscanned } })
  await unscanned('hold')
  const file = await buildDeb({ name: 'undone' })
  expect((await services[LEADER].upload(file, 'a.deb', { distribution: 'jammy' })).body.status).toBe('pending_review')
  await unscanned('allow')
  const decision = { decision: 'approve', justification: 'seen', distribution: 'jammy' }
  const { body } = await services[LEADER].call('POST', '/security/packages/undone/1.0-1/decide', decision)
  const undone = await services[OTHER].call('POST', '/security/decisions/undo', { ids: [body.decision.id] })
  expect(undone.body).toMatchObject({ status: 'ok', items: [{ status: 'pending_review', served: false }] })
  expect((await services[LEADER].call('GET', '/artifacts/undone')).body.manifest_status).toBe('pending_review')
})

it('totals of lists are never those from before a change that was answered, on any replica', async () => {
  const total = async (service: Service) =>
    (await service.call('GET', '/artifacts/?search=counted')).body.total as number
  for (let n = 0; n < 6; n++) {
    const [by, other] = n % 2 === 0 ? services : [services[1], services[0]]
    expect(await total(other)).toBe(n)
    const file = await buildDeb({ name: `counted-${n}` })
    expect((await by.upload(file, 'a.deb', { distribution: 'jammy' })).status).toBe(201)
    expect([await total(other), await total(by)]).toEqual([n + 1, n + 1])
  }
})

const stream = (service: Service, path: string, headers: Record<string, string> = {}) =>
  openEventStream(`${service.api}/api/v1${path}`, service.token, headers)

async function uploaded(service: Service, name: string): Promise<void> {
  const reply = await service.upload(await buildDeb({ name }), 'a.deb', { distribution: 'jammy' })
  expect(reply.status).toBe(201)
}

/** A stream of the dashboard that has begun, and the names of the packages in its events. */
async function watch(service: Service, headers: Record<string, string> = {}) {
  const of = await stream(service, '/dashboard/events', headers)
  await expect.poll(() => of.events('snapshot').length).toBe(1)
  return { ...of, packages: () => of.events('package').map(({ package: name }) => name) }
}

it('each replica streams what happens through the other, and a client continues at either', async () => {
  const [leader, other] = services
  const [here, there] = [await watch(leader), await watch(other)]
  await uploaded(leader, 'seen-1')
  await expect.poll(there.packages).toEqual(['seen-1'])
  there.leave()
  await uploaded(other, 'seen-2')
  await uploaded(leader, 'seen-3')
  await expect.poll(here.packages).toEqual(['seen-1', 'seen-2', 'seen-3'])
  const [first, ...later] = here.ids('package')
  expect(there.ids('package')).toEqual([first])
  for (const service of services) {
    const again = await watch(service, { 'last-event-id': first! })
    await expect.poll(again.packages).toEqual(['seen-2', 'seen-3'])
    expect(again.ids('package')).toEqual(later)
    again.leave()
  }
  here.leave()
})

it('each replica streams the log of the other, and a client continues at either', async () => {
  const [leader, other] = services
  const logged = async (service: Service, id: string) => {
    await service.call('GET', '/distributions', undefined, { 'x-request-id': id })
  }
  const requests = ({ events }: { events(name: string): Record<string, unknown>[] }) =>
    events('log').map(({ request_id: id }) => id)
  const there = await stream(other, '/logs/stream?q=followed-')
  // The first lines may be written before the stream begins to listen.
  for (let n = 0; requests(there).length === 0; n++) {
    await logged(leader, `followed-${n}`)
    await expect.poll(async () => (await other.call('GET', `/logs?q=followed-${n}`)).body.total as number).toBe(1)
  }
  there.leave()
  const last = there.ids('log').at(-1)!
  await logged(leader, 'followed-at-the-leader')
  await logged(other, 'followed-at-the-other')
  for (const service of services) {
    const again = await stream(service, '/logs/stream?q=followed-at', { 'last-event-id': last })
    await expect.poll(() => requests(again).sort()).toEqual(['followed-at-the-leader', 'followed-at-the-other'])
    again.leave()
  }
})

it('without Redis both replicas answer and say so, and with it they share their state again', async () => {
  const streams = [await watch(services[LEADER]), await watch(services[OTHER])]
  await redis.kill()
  await bothReport('local')
  for (const service of services) {
    const file = await buildDeb({ name: `alone-${createHash('sha256').update(service.api).digest('hex').slice(0, 8)}` })
    expect((await service.upload(file, 'a.deb', { distribution: 'jammy' })).status).toBe(201)
    expect((await service.call('GET', '/artifacts/?search=alone')).body.total).toBeGreaterThan(0)
  }
  for (const { packages } of streams) await expect.poll(() => packages().length).toBe(2)
  await redis.start()
  await bothReport('redis')
  await uploaded(services[LEADER], 'together')
  for (const { packages, leave } of streams) {
    await expect.poll(() => packages().at(-1)).toBe('together')
    expect(packages()).toHaveLength(3)
    leave()
  }
  for (const { log } of services) {
    const text = log.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
    for (const sentence of ['Redis is unreachable', 'Redis is reachable again']) expect(text).toContain(sentence)
    expect(text).not.toContain(REDIS_PASSWORD)
    expect(text).not.toContain(encodeURIComponent(REDIS_PASSWORD))
  }
})

it('when the leader is killed in the middle of long work of several kinds, the other leads and finishes all of it', async () => {
  const names = Array.from({ length: 12 }, (_, n) => `long-${n}`)
  await upstream.offer(names.map((name) => ({ name })))
  const [first, second] = services
  const source = await addSource(first, upstream, 'long')
  const silent = await startAptUpstream()
  await silent.offer([{ name: 'silent' }])
  const quiet = await addSource(first, silent, 'silent')
  // Nothing is answered until the leader is dead.
  let alive = true
  upstream.intercept = () => alive
  await silent.offer([{ name: 'silent', version: '2.0-1' }])
  silent.intercept = () => alive
  const call = (method: string, path: string, body?: unknown) => first.call(method, path, body).catch(() => null)

  const packages = names.map((name) => ({ package: name, source_id: source }))
  const bulk = await call('POST', '/import/bulk', { distribution: 'jammy', packages })
  expect(bulk?.status).toBe(200)
  expect((await call('PUT', `/import/mirror/sources/${source}`, { distribution: 'noble', globs: ['*'] }))?.status).toBe(
    200,
  )
  await call('POST', `/import/mirror/start/${source}`)
  const asked = [
    call('POST', `/import/sources/${quiet}/sync`),
    call('POST', '/backup'),
    call('POST', '/distributions/migrate', { from_dist: 'jammy', to_dist: 'focal' }),
  ]
  const tasks = async (): Promise<any[]> => (await second.call('GET', '/tasks/?per_page=200')).body.items
  const kinds = ['import_bulk', 'mirror', 'sync', 'backup', 'migrate']
  await waitFor('all tasks, some of which run', async () => {
    const known = await tasks()
    const isRunning = known.some(({ kind, state }) => kinds.includes(kind) && state === 'running')
    return isRunning && kinds.every((kind) => known.some((one) => one.kind === kind))
  })
  await first.kill()
  alive = false
  await waitFor('the other to lead', async () => (await info(second)).ha.is_leader === true)
  await waitFor('the end of all tasks', async () =>
    (await tasks()).every(({ state }) => ['done', 'failed', 'cancelled'].includes(state)),
  )
  const ended = await tasks()
  expect(ended.filter(({ state }) => state !== 'done')).toEqual([])
  // Each of them ran on one of the replicas; those of the dead one were taken over.
  expect(ended.filter(({ attempts }) => attempts === 2).map(({ kind }) => kind as string)).not.toEqual([])
  await Promise.all(asked)
  for (const codename of ['jammy', 'noble']) {
    const { body } = await second.call('GET', `/artifacts/?distribution=${codename}&search=long-&per_page=200`)
    expect(body.items.map(({ name }: any) => name).sort()).toEqual([...names].sort())
  }
  await silent.close()
  expect(await second.stop()).toBe(0)
  expect((await examine({ ...installation, collected: true })).faults).toEqual([])
})
