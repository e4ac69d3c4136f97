// A scanner that finds nothing fails its self-test: it passes no package, and health and metrics report it.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eicar, startFakeClamd, type FakeClamd } from '../fakes/clamd.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'

let missesMalware = true
let clamd: FakeClamd
let service: Service

beforeAll(async () => {
  clamd = await startFakeClamd({ answer: () => (missesMalware ? 'stream: OK' : null) })
  service = await startService({
    env: {
      CLAMAV_HOST: clamd.address.host,
      CLAMAV_PORT: String(clamd.address.port),
      REPO_FORMAT: 'all',
      FRESHCLAM_BIN: '/bin/true',
    },
  })
  const { status } = await service.call('PATCH', '/settings/', {
    validation: { grype_scan: false, on_unscanned: 'hold' },
  })
  expect(status).toBe(200)
})
afterAll(async () => {
  await service?.stop()
  await clamd?.close()
  await removeTemporary()
})

const BUILDS = [
  ['deb', 'jammy', (name: string, content: string) => buildDeb({ name, files: { 'usr/share/x/x': content } })],
  [
    'rpm',
    'almalinux9',
    (name: string, content: string) => buildRpm({ name, files: [{ path: '/usr/share/x', content }] }),
  ],
  ['apk', 'alpine3.21', (name: string, content: string) => buildApk({ name, files: { 'usr/share/x': content } })],
] as const

it.each(BUILDS)('a package that it calls clean is held: %s', async (format, distribution, build) => {
  const { body } = await service.upload(await build('harmless', 'text'), `x.${format}`, { distribution })
  expect(body).toMatchObject({ status: 'pending_review', held_reason: 'unscanned', pipeline: { antivirus: 'error' } })
})

it('metrics and health report the failed self-test', async () => {
  const metrics = await (await fetch(`${service.api}/metrics`)).text()
  for (const [format] of BUILDS)
    expect(metrics).toContain(`svc_scanner_selftest_failed{scanner="clamav",scope="${format}"} 1`)
  const { body } = await service.call('GET', '/health')
  expect(body).toMatchObject({
    status: 'degraded',
    checks: { non_critical: { antivirus: { ok: false, error: expect.stringContaining('EICAR') } } },
  })
})

it('once it finds malware again, clean packages are published and infected ones quarantined, without a restart', async () => {
  missesMalware = false
  // The update repeats the self-test. In a deployment an hourly check does so too.
  expect((await service.call('POST', '/security/antivirus/update')).status).toBe(200)
  for (const [format, distribution, build] of BUILDS) {
    const harmless = await service.upload(await build('plain', 'text'), `x.${format}`, { distribution })
    expect(harmless.body).toMatchObject({ status: 'published', pipeline: { antivirus: 'clean' } })
    const infected = await service.upload(await build('infected', eicar().toString()), `x.${format}`, { distribution })
    expect(infected.body.status).toBe('quarantined')
  }
})
