// The lifecycle of a new service: before its start, setup, a scanner that is down and comes back, and stopping.
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { declarations } from '../../../src/api/contract.ts'
import { eicar, startFakeClamd } from '../../fakes/clamd.ts'
import { buildDeb } from '../../samples/deb.ts'
import { API, PASSWORD, startGate, type Gate } from '../harness.ts'
import type { Reply } from '../http.ts'
import { published, staged } from '../packages/seen.ts'

const TOKEN = 'the-setup-token'
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

/** A connection and what was received on it. */
function open(port: number): { socket: Socket; text(): string; closed: Promise<unknown> } {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1'))).on('error', () => {})
  return { socket, text: () => text, closed: new Promise((resolve) => socket.once('close', resolve)) }
}

/** Each test continues where the previous one ended. @param provoked collects the codes of all answers */
export function freshLife(provoked: Set<string>): void {
  let gate: Gate
  let port: number
  let admin = ''

  beforeAll(async () => {
    // A port that is free until the fake clamd starts on it.
    const clamd = await startFakeClamd()
    port = clamd.address.port
    await clamd.close()
    gate = await startGate({
      start: false,
      people: false,
      env: {
        ADMIN_USERNAME: undefined,
        ADMIN_PASSWORD_HASH: undefined,
        SETUP_TOKEN: TOKEN,
        RATE_LIMIT_FACTOR: '1',
        CLAMAV_HOST: '127.0.0.1',
        CLAMAV_PORT: String(port),
      },
    })
  })
  afterAll(() => gate.close())

  function met(reply: Reply, status: number, code: string) {
    expect([reply.status, reply.body['code']], reply.text).toEqual([status, code])
    provoked.add(code)
    if (status === 503) expect(Number(reply.headers['retry-after'])).toBeGreaterThanOrEqual(1)
  }
  const setup = (more: object = {}, token: string | null = TOKEN, address = '203.0.113.7') =>
    gate.call('POST', '/setup/', {
      as: null,
      body: { admin_username: 'first', admin_password: PASSWORD, ...more },
      headers: { 'x-forwarded-for': address, ...(token === null ? {} : { 'x-setup-token': token }) },
    })

  test('before its start it is alive, not ready, and has no admin', async () => {
    expect((await gate.call('GET', '/health/live')).status).toBe(200)
    expect(await gate.call('GET', '/health/ready')).toMatchObject({
      status: 503,
      body: { ready: false, failing: ['starting'] },
    })
    expect((await gate.call('GET', '/setup/status')).body).toMatchObject({
      admin_exists: false,
      setup_done: false,
      needs_setup: true,
      setup_token_required: true,
    })
  })

  test('its preflight checks are public until an admin exists', async () => {
    const { status, body } = await gate.call<{ checks: Record<string, { ok: boolean; detail: string }> }>(
      'GET',
      '/setup/preflight',
      { as: null },
    )
    expect(status).toBe(200)
    expect(Object.keys(body.checks)).toEqual(['database', 'disk_space', 'antivirus', 'vulnscan', 'secrets', 'tls'])
    expect(body.checks).toMatchObject({ database: { ok: true }, antivirus: { ok: false }, tls: { ok: false } })
  })

  test('setup needs its token and a strong password, and is limited to ten requests per minute', async () => {
    met(await setup({}, null), 403, 'setup_token_invalid')
    met(await setup({}, TOKEN.toUpperCase()), 403, 'setup_token_invalid')
    met(await setup({ admin_password: 'weak' }), 400, 'weak_password')
    met(await setup({ app_url: 'javascript:alert(1)' }), 400, 'validation_error')
    for (let tries = 4; tries < 10; tries++) met(await setup({}, 'guess'), 403, 'setup_token_invalid')
    met(await setup(), 429, 'rate_limited')
    expect((await gate.call('GET', '/setup/status')).body).toMatchObject({ admin_exists: false })
  })

  test('of concurrent setups exactly one creates the admin', async () => {
    const replies = await Promise.all(
      [1, 2, 3, 4].map((n) =>
        setup({ admin_username: `first-${n}`, app_url: 'https://gate.example.org/' }, TOKEN, `203.0.113.${n + 10}`),
      ),
    )
    const won = replies.filter((reply) => reply.status === 200)
    expect(won).toHaveLength(1)
    for (const reply of replies.filter((reply) => reply.status !== 200)) met(reply, 409, 'setup_done')
    expect(won[0]?.body).toMatchObject({ token_type: 'bearer', admin_username: expect.stringMatching(/^first-[1-4]$/) })
    admin = won[0]?.body['access_token'] as string
    expect((await gate.call('GET', '/auth/users', { as: admin })).body).toMatchObject({ total: 1 })
    expect((await gate.call('GET', '/settings/', { as: admin })).body).toMatchObject({
      app_url: 'https://gate.example.org',
    })
    expect((await gate.call('GET', '/setup/status')).body).toMatchObject({
      admin_exists: true,
      setup_done: true,
      needs_setup: false,
    })
  })

  test('after setup only admins may read the preflight checks', async () => {
    met(await gate.call('GET', '/setup/preflight', { as: null }), 401, 'unauthorized')
    await gate.call('POST', '/auth/users', {
      as: admin,
      body: { username: 'looker', password: PASSWORD, role: 'maintainer' },
    })
    met(await gate.call('GET', '/setup/preflight', { as: await gate.login('looker') }), 403, 'forbidden')
    expect((await gate.call('GET', '/setup/preflight', { as: admin })).status).toBe(200)
  })

  test('while it is not the leader it starts no long work', async () => {
    const long = declarations.filter(({ flags }) => flags?.leaderOnly || flags?.needsLeader)
    expect(long.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining([
        'DELETE /import/groups/{name}',
        'POST /artifacts/admin/drift-scan',
        'POST /artifacts/admin/sync-index',
        'POST /backup',
        'POST /distributions/init',
        'POST /distributions/migrate',
        'POST /distributions/{codename}/installability',
        'POST /import',
        'POST /import/batch',
        'POST /import/bulk',
        'POST /import/fetch',
        'POST /import/mirror/start/{source}',
        'POST /import/packages',
        'POST /import/sources/{id}/sync',
        'POST /import/sync',
        'POST /import/sync-security',
        'POST /import/sync/start',
        'POST /import/sync/start/{target}',
        'POST /import/sync/{source}',
        'POST /security/feeds/refresh',
        'POST /security/vulnscan/feeds/refresh',
        'POST /security/vulnscan/update',
        'POST /settings/run-retention',
      ]),
    )
    const looker = await gate.login('looker')
    for (const { method, path } of long) {
      // Two callers, so that neither reaches the limit of imports.
      const as = path.startsWith('/import/sync') ? looker : admin
      const reply = await gate.call(method, path.replace(/\{\w+\}/g, '1'), { as })
      met(reply, 503, 'passive_replica')
      expect(reply.headers['retry-after']).toBe('5')
    }
    await gate.app.start()
    expect((await gate.call('POST', '/distributions/init', { as: admin })).body).toMatchObject({ status: 'ok' })
    expect(await gate.call('GET', '/health/ready')).toMatchObject({ status: 200, body: { ready: true } })
  })

  test('while its scanner is down it accepts no upload, whatever on_unscanned is set to', async () => {
    for (const on_unscanned of ['allow', 'hold', 'refuse']) {
      await gate.call('PATCH', '/settings/', { as: admin, body: { validation: { on_unscanned } } })
      met(
        await gate.upload(await buildDeb({ name: 'waiting' }), { distribution: 'jammy' }, { as: admin }),
        503,
        'scanner_unavailable',
      )
    }
    expect((await gate.call('GET', '/artifacts/waiting', { as: admin })).status).toBe(404)
    expect(await staged(gate)).toEqual([])
    expect((await gate.call('GET', '/health')).body).toMatchObject({
      status: 'degraded',
      checks: { non_critical: { antivirus: { ok: false } } },
    })
  })

  test('once the scanner runs, malware is quarantined, refused with ?strict=true, and never published', async () => {
    await gate.call('PATCH', '/settings/', { as: admin, body: { validation: { on_unscanned: 'allow' } } })
    const clamd = await startFakeClamd({ port })
    try {
      const clean = await gate.upload(await buildDeb({ name: 'waiting' }), { distribution: 'jammy' }, { as: admin })
      expect(clean.body).toMatchObject({
        status: 'published',
        pipeline: { antivirus: 'clean' },
        coverage: { antivirus: { files_seen: expect.any(Number) } },
      })
      const infected = (name: string) => buildDeb({ name, files: { 'usr/bin/x': eicar() }, compression: 'xz' })
      const first = await gate.upload(await infected('infected'), { distribution: 'jammy' }, { as: admin })
      expect([first.status, first.headers['x-package-status'], first.body]).toMatchObject([
        201,
        'quarantined',
        {
          status: 'quarantined',
          pipeline: { antivirus: 'infected', cve_scan: 'not_run', gpg: 'not_run', dependencies: 'not_run' },
          validation: { passed: false, cve_status: null },
        },
      ])
      const strict = await gate.upload(
        await infected('infected-strictly'),
        { distribution: 'jammy' },
        { as: admin, query: '?strict=true' },
      )
      met(strict, 409, 'policy_blocked')
      expect(Object.keys(strict.body)).toEqual(expect.arrayContaining(Object.keys(first.body)))
      expect(await published(gate, 'jammy')).toEqual(['waiting 1.0-1'])
      expect((await gate.call('GET', '/artifacts/infected', { as: admin })).body).toMatchObject({
        manifest_status: 'quarantined',
        cve_status: null,
        versions: [{ served: false, quarantined_by: 'system', quarantined_at: expect.any(String) }],
      })
      expect((await gate.call('GET', '/metrics')).text).toContain('svc_quarantine_total 2')
    } finally {
      await clamd.close()
    }
  })

  test('when it stops it finishes running requests and accepts no new ones', async () => {
    const uploading = open(gate.port)
    const kept = open(gate.port)
    const deb = await buildDeb({ name: 'last-of-all' })
    const part = (name: string, more = '') => `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`
    const body = Buffer.concat([
      Buffer.from(`${part('distribution')}jammy\r\n${part('file', '; filename="a"')}`),
      deb,
      Buffer.from('\r\n--b--\r\n'),
    ])
    await gate.call('PATCH', '/settings/', { as: admin, body: { validation: { clamav_scan: false } } })
    const ask = `GET ${API}/auth/roles HTTP/1.1\r\nhost: gate\r\n\r\n`
    kept.socket.write(ask)
    await expect.poll(() => kept.text()).toMatch(/^HTTP\/1\.1 200 /)
    uploading.socket.write(
      `POST ${API}/upload/ HTTP/1.1\r\nhost: gate\r\nauthorization: Bearer ${admin}\r\nexpect: 100-continue\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: ${body.length}\r\n\r\n`,
    )
    // A file in staging may be one of a request before; this answer says that the service admitted this upload.
    await expect.poll(() => uploading.text()).toBe(CONTINUE)
    uploading.socket.write(body.subarray(0, 200))
    const ended = gate.stop()
    uploading.socket.write(body.subarray(200))
    // The service reads it after the stop was requested.
    kept.socket.write(ask)
    await Promise.all([uploading.closed, kept.closed, ended])
    expect(uploading.text().slice(CONTINUE.length)).toMatch(
      /^HTTP\/1\.1 201 [^]*\r\nconnection: close\r\n[^]*"package":"last-of-all"/i,
    )
    const second = kept.text().slice(kept.text().lastIndexOf('HTTP/1.1 '))
    expect(second).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 5[^]*"code":"shutting_down"/)
    expect(second.toLowerCase()).toContain('connection: close')
    provoked.add('shutting_down')
  })
}
