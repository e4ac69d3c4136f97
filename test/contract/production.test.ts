// The differences in production: the start, the documentation, anonymous answers, and unscanned packages.
import { afterAll, describe, expect, test } from 'vitest'
import { EnvironmentError, readEnv } from '../../src/config/env.ts'
import { buildDeb } from '../samples/deb.ts'
import { createDeclaredCheck } from './declared.ts'
import { startGate, type Gate } from './harness.ts'
import { lastAudited, published, staged } from './packages/seen.ts'

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
const STRONG = {
  ENV: 'production',
  JWT_SECRET_KEY: 'Qm7vT2xK9pLr4WzN8bYc3FhJ6sDg1AeU5',
  WEBHOOK_SECRET: 'u8Zr3Kq9Wm2Xt7Vb',
  SVC_LICENSE_VENDOR_KEY: 'vendor-7f3Kq9Wm2Xt7',
}

describe('the start', () => {
  const faults = (more: Record<string, string | undefined>) => {
    try {
      readEnv({ DATABASE_URL: 'pglite://memory', ...STRONG, ...more })
      return []
    } catch (error) {
      if (error instanceof EnvironmentError) return error.faults
      throw error
    }
  }
  const NAMES = ['JWT_SECRET_KEY', 'WEBHOOK_SECRET', 'SVC_LICENSE_VENDOR_KEY']

  test('finds no fault when everything is configured', () => expect(faults({})).toEqual([]))

  test('names all missing secrets and the missing database together', () => {
    const found = faults({
      DATABASE_URL: undefined,
      JWT_SECRET_KEY: undefined,
      WEBHOOK_SECRET: '',
      SVC_LICENSE_VENDOR_KEY: ' ',
    })
    for (const name of ['DATABASE_URL', ...NAMES])
      expect(found.filter((fault) => fault.startsWith(`${name} `))).toHaveLength(1)
    expect(found).toHaveLength(4)
  })

  test('names all weak secrets together without quoting them', () => {
    const weak = {
      JWT_SECRET_KEY: 'changeme-changeme-changeme-changeme',
      WEBHOOK_SECRET: 'supersecret',
      SVC_LICENSE_VENDOR_KEY: 'vendor-key',
    }
    const found = faults(weak)
    for (const name of NAMES) expect(found.filter((fault) => fault.startsWith(`${name} `))).toHaveLength(1)
    for (const secret of Object.values(weak)) expect(found.join('\n')).not.toContain(secret)
    expect(faults({ JWT_SECRET_KEY: STRONG.JWT_SECRET_KEY.slice(0, 31) })).toEqual([
      expect.stringContaining('shorter than 32'),
    ])
  })

  test('needs no vendor key in the community edition', () =>
    expect(faults({ SVC_EDITION: 'community', SVC_LICENSE_VENDOR_KEY: undefined })).toEqual([]))
})

describe('a service in production', async () => {
  const gate = await startGate({ env: STRONG })
  afterAll(() => gate.close())

  test('has no documentation, by any method or spelling', async () => {
    for (const path of [
      '/docs',
      '/docs/',
      '/redoc',
      '/openapi.json',
      '/docs/swagger-ui.css',
      '/docs/swagger-ui-bundle.js',
      '/docs/redoc.standalone.js',
      '/docs/start.js',
      '/docs/anything',
      '/api/docs',
    ]) {
      for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) {
        const reply = await gate.call(method, path)
        expect([method, path, reply.status]).toEqual([method, path, 404])
        if (method !== 'HEAD') expect(reply.body['code']).toBe('not_found')
      }
    }
  })

  test('shows the OpenAPI document to people and tokens below /api/v1', async () => {
    const reply = await gate.call('GET', '/openapi.json', { as: null })
    expect(reply.status).toBe(404)
    const path = '/api/v1/openapi.json'
    expect((await gate.call('GET', path, { as: null })).status).toBe(401)
    for (const as of [gate.people.reader.session, gate.people.reader.token]) {
      const { status, body } = await gate.call('GET', path, { as })
      expect([status, body['openapi']]).toEqual([200, '3.1.0'])
    }
  })

  test('has every other route', async () => {
    const check = createDeclaredCheck(gate.app.routes)
    expect(() => check('GET', '/health/live', { status: 200, headers: JSON_TYPE, text: '{}', body: {} })).toThrow(
      'not in its shape',
    )
    for (const route of gate.app.routes.filter(
      (route) => !route.flags?.developmentOnly && !route.path.includes('{') && route.method === 'GET',
    )) {
      const path = route.root ? route.path : `/api/v1${route.path}`
      // A search answers that nothing was synced yet.
      const expected = path === '/api/v1/import/search' ? 424 : 200
      const url = expected === 424 ? `${path}?q=any` : path
      expect([path, (await gate.call('GET', url, { headOnly: route.answer === null })).status]).toEqual([
        path,
        expected,
      ])
    }
  })

  test('sends Strict-Transport-Security', async () => {
    expect((await gate.call('GET', '/auth/roles', { as: null })).headers['strict-transport-security']).toMatch(
      /^max-age=\d{7,}/,
    )
  })

  const PRIVATE = ['path', 'error', 'fingerprint', 'issued_to', 'instance_id']

  test('shows anonymous callers its health without paths and names', async () => {
    for (const as of [null, 'svc_garbage']) {
      const { status, body } = await gate.call('GET', '/health', { as })
      expect(status).toBe(200)
      expect(body['status']).toBe('degraded')
      const found = valuesOf(body, PRIVATE)
      expect([...new Set(found.map(([key]) => key))].sort()).toEqual([...PRIVATE].sort())
      for (const [key, value] of found) expect([key, value]).toEqual([key, null])
      expect(JSON.stringify(body)).not.toContain(gate.reposDir)
    }
  })

  test.each(['reader', 'admin'] as const)('shows the whole health report to a %s', async (role) => {
    for (const as of [gate.people[role].session, gate.people[role].token]) {
      const found = valuesOf((await gate.call('GET', '/health', { as })).body, PRIVATE)
      expect(found).toContainEqual(['fingerprint', gate.app.fingerprint])
      expect(found.some(([key, value]) => key === 'path' && String(value).startsWith(gate.reposDir))).toBe(true)
    }
  })

  test('without a scanner a package is held, not published, and reported', async () => {
    const reply = await gate.upload(
      await buildDeb({ name: 'unscanned' }),
      { distribution: 'noble' },
      { as: gate.people.uploader.token },
    )
    expect([reply.status, reply.headers['x-package-status'], reply.body]).toMatchObject([
      201,
      'pending_review',
      {
        status: 'pending_review',
        held_reason: 'unscanned',
        pipeline: { antivirus: 'error' },
        validation: { passed: false },
      },
    ])
    expect(await published(gate, 'noble')).toEqual([])
    expect((await gate.call('GET', '/packages/')).body).toEqual({ packages: [], total: 0 })
    expect((await gate.call('GET', '/distributions/noble/packages')).body).toMatchObject({ total: 0 })
    expect((await gate.call('GET', '/artifacts/unscanned')).body).toMatchObject({
      manifest_status: 'pending_review',
      versions: [{ served: false, held_reason: 'unscanned' }],
    })
    expect((await gate.call('GET', '/artifacts/?status=pending_review')).body).toMatchObject({ total: 1 })
    expect((await gate.call('GET', '/metrics', { as: null })).text).toContain('svc_pending_review_total 1')
    expect(await lastAudited(gate, { action: 'UPLOAD' })).toMatchObject({
      result: 'WARNING',
      outcome: 'pending_review',
    })
    const again = await gate.upload(await buildDeb({ name: 'unscanned' }), { distribution: 'noble' })
    expect(again).toMatchObject({ status: 409, body: { code: 'already_exists', status: 'pending_review' } })
  })

  const validation = (body: object) => gate.call('PATCH', '/settings/', { body: { validation: body } })

  test('with on_unscanned refuse it answers 503 and stores nothing', async () => {
    await validation({ on_unscanned: 'refuse' })
    for (const path of ['', '?strict=true']) {
      const reply = await gate.upload(await buildDeb({ name: 'refused' }), { distribution: 'noble' }, { query: path })
      expect(reply).toMatchObject({
        status: 503,
        body: { code: 'scanner_unavailable' },
        headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
      })
    }
    expect((await gate.call('GET', '/artifacts/refused')).status).toBe(404)
    expect(await staged(gate)).toEqual([])
  })

  test('a disabled scan holds no package, an enabled one still does', async () => {
    await validation({ on_unscanned: 'hold', clamav_scan: false })
    const half = await gate.upload(await buildDeb({ name: 'half-scanned' }), { distribution: 'noble' })
    expect(half.body).toMatchObject({
      status: 'pending_review',
      pipeline: { antivirus: 'skipped', cve_scan: 'no_data' },
    })
    await validation({ grype_scan: false })
    const unasked = await gate.upload(await buildDeb({ name: 'not-to-be-scanned' }), { distribution: 'noble' })
    expect(unasked.body).toMatchObject({
      status: 'published',
      held_reason: null,
      pipeline: { antivirus: 'skipped', cve_scan: 'skipped' },
      validation: { passed: true, cve_status: 'approved' },
    })
    expect(await published(gate, 'noble')).toEqual(['not-to-be-scanned 1.0-1'])
  })

  test('with on_unscanned allow it publishes with a warning', async () => {
    await validation({ on_unscanned: 'allow', clamav_scan: true, grype_scan: true })
    const { body } = await gate.upload<{ warnings: string[] }>(await buildDeb({ name: 'allowed' }), {
      distribution: 'noble',
    })
    expect(body).toMatchObject({ status: 'published', pipeline: { antivirus: 'error' } })
    expect(body.warnings.join()).toMatch(/malware scanner/)
  })

  test('no test above caused an unexpected error', () => expect(gate.errors).toEqual([]))
})

describe('a service with private health and metrics', async () => {
  const gate: Gate = await startGate({ env: { HEALTH_REQUIRE_AUTH: 'true', METRICS_TOKEN: 'scrape-it' } })
  afterAll(() => gate.close())

  test('health needs a credential, the two probes never do', async () => {
    for (const as of [null, 'garbage']) {
      const reply = await gate.call('GET', '/health', { as })
      expect([reply.status, reply.body['code'], reply.headers['www-authenticate']]).toEqual([
        401,
        'unauthorized',
        'Bearer',
      ])
    }
    expect((await gate.call('GET', '/health', { as: gate.people.reader.token })).status).toBe(200)
    for (const path of ['/health/live', '/health/ready'])
      expect((await gate.call('GET', path, { as: null })).status).toBe(200)
  })

  test('metrics need their own token', async () => {
    for (const as of [null, 'scrape', 'scrape-it-', gate.people.admin.token]) {
      const reply = await gate.call('GET', '/metrics', { as })
      expect([reply.status, reply.body['code'], reply.text.includes('svc_')]).toEqual([401, 'unauthorized', false])
    }
    expect((await gate.call('GET', '/metrics', { as: 'scrape-it' })).status).toBe(200)
  })
})

/** Every value of one of the keys, at any depth. */
function valuesOf(value: unknown, keys: string[]): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(keys.includes(key) ? [[key, inner] as [string, unknown]] : []),
    ...valuesOf(inner, keys),
  ])
}
