// Traces of the real service, decoded by a collector on loopback.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../crash/postgres.ts'
import { waitFor } from '../crash/state.ts'
import { startCollector, type Collector, type SentSpan } from '../fakes/otlp.ts'
import { buildDeb } from '../samples/deb.ts'
import { ADMIN, removeTemporary, startService, type Service } from '../service.ts'

const parentOf = (sampled = true) => {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return { traceId, spanId, header: { traceparent: `00-${traceId}-${spanId}-0${sampled ? 1 : 0}` } }
}

const running: (Collector | Service)[] = []
const kept = <T extends Collector | Service>(one: T): T => {
  running.push(one)
  return one
}
afterAll(async () => {
  for (const one of running) await ('kill' in one ? one.kill() : one.close())
  await removeTemporary()
})

describe('a service with a collector', () => {
  let collector: Collector
  let service: Service
  const PACKAGE = 'unspoken-name'
  const caller = parentOf()
  const inTrace = (id: string) => collector.spans.filter(({ traceId }) => traceId === id)
  const spansOf = async (id: string, isWhole: (names: Set<string>) => boolean): Promise<SentSpan[]> => {
    await waitFor('the trace', async () => isWhole(new Set(inTrace(id).map(({ name }) => name))))
    return inTrace(id)
  }
  const UPLOAD = 'POST /api/v1/upload'

  beforeAll(async () => {
    collector = kept(await startCollector())
    service = kept(
      await startService({
        env: {
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_EXPORTER_OTLP_HEADERS: 'authorization=of-the-collector',
          OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=trial',
          OTEL_BSP_SCHEDULE_DELAY: '200',
          OUTBOUND_ALLOWED_HOSTS: '127.0.0.1',
        },
      }),
    )
    const file = await buildDeb({ name: PACKAGE })
    const reply = await service.upload(file, 'a.deb', { distribution: 'jammy' }, caller.header)
    expect(reply.status).toBe(201)
  })

  it('tells of an upload in the trace of its caller: the steps of the gate, the stages of the publish, the statements', async () => {
    const spans = await spansOf(caller.traceId, (names) => [...names].some((name) => name.startsWith(UPLOAD)))
    const byId = new Map(spans.map((span) => [span.spanId, span]))
    const [root, ...others] = spans.filter(({ parent }) => !byId.has(parent))
    expect(others).toEqual([])
    expect(root).toMatchObject({
      parent: caller.spanId,
      attributes: { 'http.request.method': 'POST', 'http.response.status_code': '201', 'gatehouse.role': 'admin' },
      resource: {
        'service.name': 'gatehouse',
        'service.version': 'dev',
        'deployment.environment.name': 'trial',
        'telemetry.sdk.language': 'nodejs',
      },
    })
    expect(root?.attributes['http.route']).toMatch(/^\/api\/v1\/upload/)
    const ancestors = (name: string): string[] => {
      const names: string[] = []
      for (let at = spans.find((span) => span.name === name); at; at = byId.get(at.parent)) names.push(at.name)
      return names
    }
    for (const step of ['antivirus', 'cve_scan', 'gpg', 'dependencies'])
      expect(ancestors(`gate ${step}`)).toEqual([`gate ${step}`, root?.name])
    for (const stage of ['follow', 'render', 'link packages', 'write generation', 'flip'])
      expect(ancestors(`publish ${stage}`)).toEqual([`publish ${stage}`, 'publish', 'intake publish', root?.name])
    expect(spans.find(({ name }) => name === 'publish')?.attributes).toMatchObject({
      'gatehouse.distribution': 'jammy',
      'gatehouse.outcome': 'published',
    })
    const insert = spans.find(({ name }) => name === 'INSERT packages')
    expect(insert?.attributes['db.query.text']).toContain('$1')
    expect(ancestors('INSERT packages').at(1)).toBe('intake settle')
    for (const { began, ended } of spans) expect(ended >= began).toBe(true)
    expect(spans.filter(({ isError }) => isError)).toEqual([])
    expect(collector.headers[0]).toMatchObject({
      'content-type': 'application/x-protobuf',
      authorization: 'of-the-collector',
    })
    expect(service.log).toContainEqual(
      expect.objectContaining({ msg: 'request', status: 201, trace_id: caller.traceId }),
    )
  })

  it('names spans by route, step and table alone, and sends no secret and no parameter', async () => {
    const { traceId, header } = parentOf()
    await service.call('POST', '/auth/token', { ...ADMIN, password: 'Wrong-pass-1' }, { authorization: '', ...header })
    await service.call('GET', `/artifacts/${PACKAGE}?q=unspoken-query`, undefined, header)
    await service.call('GET', '/unspoken-path', undefined, header)
    await service.call('POST', '/security/rescan/unspoken-other', {}, header)
    await service.call('DELETE', '/auth/api-tokens/12345', undefined, header)
    await spansOf(traceId, (names) => names.has('DELETE /api/v1/auth/api-tokens/{token_id}') || names.has('DELETE'))
    const names = new Set(collector.spans.map(({ name }) => name))
    for (const name of names)
      expect(name).toMatch(
        /^((GET|POST|DELETE)( \/api\/v1[\w/{}-]*)?|(SELECT|INSERT|UPDATE|DELETE|WITH|BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|LOCK|SET|OTHER)( [a-z_0-9]+)?|(gate|intake|publish|task|notify)( [a-z_]+)*)$/,
      )
    expect(names).toContain('GET /api/v1/artifacts/{name}')
    expect(names).toContain('GET')
    const sent = Buffer.concat(collector.bodies)
    const secrets = [service.token, ADMIN.password, 'Wrong-pass-1', 'a-secret-of-the-test-suites', 'unspoken-']
    expect(secrets.filter((secret) => sent.includes(secret))).toEqual([])
    for (const path of ['/health/live', '/metrics']) await service.call('GET', path)
    expect([...names].filter((name) => /health|metrics/.test(name))).toEqual([])
  })

  it('passes the trace on to the receiver of events', async () => {
    const received: (string | undefined)[] = []
    const receiver = createServer((request, response) => {
      received.push(request.headers['traceparent'] as string)
      response.writeHead(204).end()
    }).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook?key=unspoken-key`
    await service.call('PATCH', '/settings/', { notifications: { webhook_url: url } })
    const { traceId, header } = parentOf()
    expect((await service.call('POST', '/settings/test-webhook', {}, header)).body).toMatchObject({ status: 'ok' })
    receiver.close()
    const spans = await spansOf(traceId, (names) => names.has('POST'))
    const post = spans.find(({ name }) => name === 'POST')
    expect(received).toEqual([`00-${traceId}-${post?.spanId}-01`])
    expect(post?.attributes).toMatchObject({ 'server.address': '127.0.0.1', 'http.response.status_code': '204' })
    expect(Buffer.concat(collector.bodies).includes('unspoken-key')).toBe(false)
  })
})

it('statements on PostgreSQL are spans of the request, with their text and none of their values', async () => {
  const collector = kept(await startCollector())
  const postgres = await startPostgres()
  try {
    const service = await startService({
      databaseUrl: await postgres.create('traced'),
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '200' },
    })
    try {
      const { traceId, spanId, header } = parentOf()
      const user = {
        username: 'unspoken-user',
        password: 'Unspoken-pass-1',
        role: 'reader',
        email: 'unspoken@example.org',
      }
      expect((await service.call('POST', '/auth/users', user, header)).status).toBe(201)
      expect((await service.call('GET', '/artifacts/?search=unspoken-text', undefined, header)).status).toBe(200)
      const file = await buildDeb({ name: 'unspoken-package' })
      expect((await service.upload(file, 'a.deb', { distribution: 'jammy' }, header)).status).toBe(201)
      expect(await service.stop()).toBe(0)
      const spans = collector.spans.filter((span) => span.traceId === traceId)
      const ids = new Set([spanId, ...spans.map((span) => span.spanId)])
      const statements = spans.filter(({ attributes }) => 'db.query.text' in attributes)
      for (const name of ['BEGIN', 'INSERT users', 'INSERT packages', 'COMMIT'])
        expect(statements.map((span) => span.name)).toContain(name)
      const insert = statements.find(({ name }) => name === 'INSERT users')
      expect(insert?.attributes).toMatchObject({ 'db.system.name': 'postgresql', 'db.collection.name': 'users' })
      expect(insert?.attributes['db.query.text']).toMatch(/values \(\$1, \$2/)
      expect(statements.filter(({ parent, isError }) => !ids.has(parent) || isError)).toEqual([])
      const sent = Buffer.concat(collector.bodies).toString('latin1')
      expect(sent).toContain('insert into "users"')
      expect(sent.match(/unspoken|\$2[aby]\$|@example\.org/gi)).toBeNull()
    } finally {
      await service.kill()
    }
  } finally {
    await postgres.remove()
  }
})

it('the standard variables choose the traces, the form and the name; what is left is sent at the end', async () => {
  const collector = kept(await startCollector())
  const service = kept(
    await startService({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_TRACES_SAMPLER: 'parentbased_always_off',
        OTEL_SERVICE_NAME: 'the-gate',
        OTEL_BSP_SCHEDULE_DELAY: '600000',
      },
    }),
  )
  const wanted = parentOf()
  for (const header of [{}, parentOf(false).header, wanted.header])
    expect((await service.call('GET', '/artifacts/', undefined, header)).status).toBe(200)
  expect(collector.spans).toEqual([])
  expect(await service.stop()).toBe(0)
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([wanted.traceId]))
  expect(collector.spans.map(({ name }) => name)).toContain('GET /api/v1/artifacts')
  expect(collector.spans[0]?.resource).toMatchObject({ 'service.name': 'the-gate' })
})

/** At its end, writes the names of all CommonJS modules that the process has loaded, such as those of OpenTelemetry. */
const TELLING = `import { createRequire } from 'node:module'; import { writeFileSync } from 'node:fs';
process.on('exit', () => { if (process.env.LOADED) writeFileSync(process.env.LOADED, Object.keys(createRequire('/').cache).join('\\n')) })`

async function startTelling(env: Record<string, string>) {
  const LOADED = join(tmpdir(), `loaded-${randomBytes(6).toString('hex')}`)
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(TELLING)}`
  const service = kept(await startService({ env: { ...env, LOADED, NODE_OPTIONS } }))
  return {
    service,
    async upload(name: string) {
      const reply = await service.upload(await buildDeb({ name }), 'a.deb', { distribution: 'jammy' })
      expect(reply.status).toBe(201)
    },
    /** @returns the loaded modules of OpenTelemetry; prom-client brings its interface */
    async stopped(): Promise<string[]> {
      expect(await service.stop()).toBe(0)
      const modules = (await readFile(LOADED, 'utf8')).split('\n')
      expect(modules.length).toBeGreaterThan(100)
      return modules.filter((name) => /@opentelemetry\/(?!api\/)/.test(name))
    },
  }
}

it('without a collector nothing of it is loaded', async () => {
  const { upload, stopped } = await startTelling({})
  await upload('untraced')
  expect(await stopped()).toEqual([])
})

it('a collector that never answers, and then is away, keeps no upload and no stop waiting, and is reported once', async () => {
  const collector = kept(await startCollector({ answers: false }))
  const { service, upload, stopped } = await startTelling({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url.replace('//', '//user:unspoken-pass@'),
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_BSP_MAX_QUEUE_SIZE: '8',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '8',
  })
  const complaints = () => service.log.filter((line) => JSON.stringify(line).includes('the collector of traces'))
  await upload('first')
  await waitFor('a complaint', async () => collector.bodies.length > 0 && complaints().length > 0)
  await collector.close()
  await upload('second')
  expect(await stopped()).not.toEqual([])
  expect(complaints()).toHaveLength(1)
  expect(JSON.stringify(service.log)).not.toContain('unspoken-pass')
})
