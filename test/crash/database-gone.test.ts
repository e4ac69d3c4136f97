// The database server stops under load and starts again: clients can read all the time; the service needs no restart.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildDeb } from '../samples/deb.ts'
import { ADMIN, startService, type Service } from '../service.ts'
import { createInstallations, type Installation, type Installations } from './installations.ts'
import { readRepository, readHttp } from './read-repository.ts'
import type { Postgres } from './postgres.ts'
import { examine, waitFor } from './state.ts'

const GONE_MS = 10_000

let installations: Installations
let installation: Installation
let service: Service
beforeAll(async () => {
  installations = await createInstallations('postgres')
  installation = await installations.copy()
  // PostgreSQL logs the copied sequences only after a checkpoint. A crash before that would reset them.
  await installations.postgres?.query('postgres', 'checkpoint')
  service = await startService(installation)
})
afterAll(async () => {
  await service?.kill()
  await installations?.remove()
})

it('while PostgreSQL is down clients can read and writes are refused with an error; afterwards everything works', async () => {
  const postgres = installations.postgres as Postgres
  const publicKey = await readFile(join(installation.reposDir, 'keys', 'gpg.key'), 'utf8')
  const offered = async () => [
    ...(await readRepository(readHttp(service), 'jammy', publicKey, { quiet: false })).packages.keys(),
  ]
  const upload = async (name: string) =>
    service.upload(await buildDeb({ name, version: '1.0' }), 'a.deb', { distribution: 'jammy' })
  expect((await upload('before')).status).toBe(201)

  // At the stop, uploads are running at every stage.
  const published: string[] = []
  let away = false
  const uploads = [1, 2, 3].map(async (uploader) => {
    for (let n = 0; !away; n++) {
      const name = `storm-${uploader}-${n}`
      const { status, body } = await upload(name)
      if (status === 201) published.push(name)
      else expectProblem({ status, body })
    }
  })
  await waitFor('an upload', async () => published.length > 3)
  await postgres.stop()
  const goneAt = Date.now()
  away = true
  await Promise.all(uploads)

  expectAway(await upload('during'))
  for (const [method, path, body] of DURING) expectAway(await service.call(method, path, body), `${method} ${path}`)
  const ready = await service.call('GET', '/health/ready')
  expect([ready.status, ready.body.ready, ready.body.failing]).toEqual([503, false, ['auth_db', 'manifest_db']])
  expect((await service.call('GET', '/health/live')).status).toBe(200)
  // The metrics show the fault, and the disks.
  const metrics = await (await fetch(`${service.api}/metrics`)).text()
  expect(metrics).toContain('svc_probe_ok{group="critical",probe="manifest_db"} 0')
  expect(metrics).toMatch(/^svc_storage_free_bytes\{place="pool"\} [1-9]/m)
  expect(metrics).not.toMatch(/^svc_packages_total /m)
  while (Date.now() - goneAt < GONE_MS) {
    expect(await offered()).toContain('before 1.0 amd64')
    await new Promise((resolve) => setTimeout(resolve, 500))
  }

  await postgres.start()
  await waitFor('readiness', async () => (await service.call('GET', '/health/ready')).status === 200)
  const { status, body: after } = await upload('after')
  expect([status, after.code, after.detail]).toEqual([201, undefined, undefined])
  expect((await service.call('DELETE', '/artifacts/before')).status).toBe(200)
  const now = await offered()
  for (const name of [...published, 'after']) expect(now).toContain(`${name} 1.0 amd64`)
  expect(now).not.toContain('before 1.0 amd64')
  expect(service.process.exitCode).toBeNull()
  // The service is the leader, either still or again.
  const { body } = await waitFor('leadership', async () => {
    const report = await service.call('GET', '/health')
    return report.body.checks.info.ha.is_leader ? report : null
  })
  expect(body.checks.critical.auth_db.ok).toBe(true)
  expect(await service.stop()).toBe(0)

  // The next start removes unfinished work of the interruption.
  service = await startService(installation)
  expect(await service.stop()).toBe(0)
  expect((await examine({ ...installation, collected: true })).faults).toEqual([])
})

/** A request of each kind: sign-in, lists, streams, writes, tasks, webhooks. */
const DURING = [
  ['POST', '/auth/token', { username: ADMIN.username, password: ADMIN.password }],
  ['POST', '/auth/refresh', undefined],
  ['GET', '/auth/me', undefined],
  ['GET', '/artifacts/', undefined],
  ['GET', '/artifacts/before', undefined],
  ['GET', '/dashboard/stats', undefined],
  ['GET', '/security/review-queue', undefined],
  ['GET', '/import/sources', undefined],
  ['GET', '/tasks/', undefined],
  ['GET', '/dashboard/events', undefined],
  ['DELETE', '/artifacts/before', undefined],
  ['POST', '/distributions/promote', { package: 'before', version: '1.0', from_dist: 'jammy', to_dist: 'noble' }],
  ['POST', '/import/packages', { source_id: 1, package: 'a', version: '1', arch: 'amd64', distribution: 'jammy' }],
  ['POST', '/security/packages/before/1.0/rescan', undefined],
  ['POST', '/backup', undefined],
] as const

function expectAway({ status, body, headers }: Awaited<ReturnType<Service['call']>>, what = 'upload'): void {
  expect([what, status, body.code]).toEqual([what, 503, 'database_unavailable'])
  expect([what, Number(headers.get('retry-after')) > 0]).toEqual([what, true])
}

function expectProblem({ status, body }: { status: number; body: any }): void {
  expect(status).toBeGreaterThanOrEqual(500)
  expect([typeof body.code, typeof body.detail]).toEqual(['string', 'string'])
  // An outage is no bug of Gatehouse.
  expect(body.code).not.toBe('internal_error')
}
