// The sync of several sources as a job, and the fixes in security sources for the packages that we serve.
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FormatId } from '../formats.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { readAdvisories } from './read-advisories.ts'

interface Kind {
  codename: string
  ecosystem: string
  version(number: number): string
  build(name: string, number: number): Promise<Buffer> | Buffer
  source(): Promise<Record<string, unknown>>
}

let directory: string
let upstream: Service
let service: Service
let silent: Server

const text = async (url: string) => (await fetch(url)).text()
const KINDS: Record<FormatId, Kind> = {
  deb: {
    codename: 'jammy',
    ecosystem: 'Ubuntu:22.04:LTS',
    version: (number) => `${number}.0-1`,
    build: (name, number) => buildDeb({ name, version: `${number}.0-1` }),
    source: async () => ({
      ...{ type: 'apt', url: `${upstream.apt}/repos`, distribution: 'jammy', components: ['main'] },
      gpg_key: await text(`${upstream.apt}/repos/gpg.key`),
    }),
  },
  rpm: {
    codename: 'almalinux9',
    ecosystem: 'AlmaLinux:9',
    version: (number) => `${number}.0-1`,
    build: (name, number) => buildRpm({ name, version: `${number}.0`, release: '1', arch: 'x86_64' }),
    source: async () => ({
      ...{ type: 'rpm', url: `${upstream.rpm}/repos/almalinux9/x86_64`, target: 'almalinux9' },
      gpg_key: await text(`${upstream.rpm}/repos/gpg.key`),
    }),
  },
  apk: {
    codename: 'alpine3.21',
    ecosystem: 'Alpine:v3.21',
    version: (number) => `${number}.0-r1`,
    build: (name, number) => buildApk({ name, version: `${number}.0-r1` }),
    source: async () => ({
      ...{ type: 'apk', url: `${upstream.apt}/apk/alpine3.21/main`, target: 'alpine3.21' },
      gpg_key: await text(`${upstream.apt}/apk/svc.rsa.pub`),
    }),
  },
}
const FORMATS = Object.keys(KINDS) as FormatId[]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'security-sync-'))
  await writeAdvisories(
    directory,
    FORMATS.map((format) => ({
      ...{ id: `SA-${format}`, ecosystem: KINDS[format].ecosystem, package: 'leaky', cve: 'CVE-2026-1003' },
      ...{ fixed: KINDS[format].version(2), severity: 'medium' as const },
    })),
  )
  const env = { REPO_FORMAT: 'all' }
  ;[upstream, service] = await Promise.all([
    startService({ env }),
    startService({ env: { ...env, SVC_OSV_DIR: directory } }),
  ])
  await readAdvisories(service)
  silent = createServer(() => {}).listen(0, '127.0.0.1')
  for (const format of FORMATS) {
    const { build, codename } = KINDS[format]
    for (const [to, name, number] of [
      [service, 'leaky', 1],
      [service, 'current', 2],
      [upstream, 'leaky', 2],
      [upstream, 'current', 1],
    ] as const) {
      const { body } = await to.upload(await build(name, number), 'any', { distribution: codename })
      expect(body).toMatchObject({ status: 'published' })
    }
  }
})
afterAll(async () => {
  silent?.closeAllConnections()
  silent?.close()
  await upstream?.stop()
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

async function create(format: FormatId, name: string, more: object = {}): Promise<number> {
  const body = { name, ...(await KINDS[format].source()), ...more }
  const { body: source, status } = await service.call('POST', '/import/sources', body)
  expect([status, source.target]).toEqual([201, KINDS[format].codename])
  return source.id
}

/** @returns the events of a job, to its end */
async function streamed(job: number, from = 0): Promise<{ headers: Headers; events: Record<string, unknown>[] }> {
  const reply = await fetch(`${service.api}/api/v1/import/sync/jobs/${job}/stream?from_index=${from}`, {
    headers: { authorization: `Bearer ${service.token}` },
  })
  expect(reply.status).toBe(200)
  const events = [...(await reply.text()).matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!) as never)
  return { headers: reply.headers, events }
}

const start = (body: object) => service.call('POST', '/import/sync/start', body)

describe.each(FORMATS)('%s', (format) => {
  const { codename, version } = KINDS[format]
  const cve = () => service.call('GET', `/security/packages/leaky/${version(1)}/cve?distribution=${codename}`)
  const updates = () => service.call('GET', `/import/security-updates?distribution=${codename}`)

  it('a job reads the security source, and names the package that has a fix there', async () => {
    expect((await cve()).body.cve_results[0]).not.toHaveProperty('fix_available')
    const id = await create(format, `fixes-${format}`, { security: true })
    const { status, body } = await start({ source_ids: [id], security_only: true })
    expect([status, body]).toEqual([200, expect.objectContaining({ label: `fixes-${format}`, total: 1 })])
    const { headers, events } = await streamed(body.job_id)
    expect([headers.get('x-job-id'), headers.get('x-job-total')]).toEqual([String(body.job_id), '1'])
    expect(events.at(-1)).toMatchObject({ status: 'done', done_count: 1, error_count: 0, total: 1 })
    expect((await streamed(body.job_id, 2)).events).toEqual(events.slice(2))
    const job = await service.call('GET', `/import/sync/jobs/${body.job_id}`)
    expect(job.body).toMatchObject({ status: 'done', log_count: events.length - 1, cancelling: false })

    expect((await updates()).body).toMatchObject({
      total: 1,
      items: [{ package: 'leaky', version: version(1), newer_version: version(2), findings: 1, source: { id } }],
    })
    const { body: log } = await service.call('GET', '/artifacts/audit/logs?action=SECURITY_SYNC')
    expect(log.items[0]).toMatchObject({ user: 'admin', result: 'SUCCESS', extra: { done_count: 1 } })
  })

  it('the finding says where the fix is, and one call imports it', async () => {
    const [finding] = (await cve()).body.cve_results
    expect(finding).toMatchObject({
      id: 'CVE-2026-1003',
      fix_available: { source: `fixes-${format}`, version: version(2) },
    })
    const { source: _source, ...wanted } = finding.fix_available
    const imported = await service.call('POST', '/import/packages', wanted)
    expect([imported.status, imported.body]).toEqual([201, expect.objectContaining({ status: 'published' })])
    expect((await updates()).body).toMatchObject({ total: 0, items: [] })
    const { body } = await start({ source_ids: [wanted.source_id], security_only: true })
    await streamed(body.job_id)
    expect((await updates()).body).toMatchObject({ total: 0, items: [] })
  })
})

it('a source that cannot be read does not stop the others, and a job in which none could be read is an error', async () => {
  const lost = await create('deb', 'lost', { url: `${upstream.apt}/nowhere` })
  const fine = (await service.call('GET', '/import/sources')).body.sources.find(
    (one: { name: string }) => one.name === 'fixes-deb',
  ).id
  const some = await streamed((await start({ source_ids: [lost, fine] })).body.job_id)
  expect(some.events.at(-1)).toMatchObject({ status: 'done', done_count: 1, error_count: 1 })
  expect(some.events).toContainEqual(
    expect.objectContaining({ source_id: lost, status: 'error', code: 'upstream_error' }),
  )
  const none = await streamed((await service.call('POST', `/import/sync/${lost}`)).body.job_id)
  expect(none.events.at(-1)).toMatchObject({ status: 'error', done_count: 0, error_count: 1 })
  const { body } = await service.call('GET', '/import/sync-status')
  expect(body.sources.find((one: { source_id: number }) => one.source_id === lost)).toMatchObject({
    status: 'error',
    format: 'deb',
  })
  expect((await service.call('GET', '/import/stats')).body).toMatchObject({
    failing: 1,
    formats: { deb: { synced: 1 } },
  })
})

it('a second call gets the running job, and cancelling it ends the sync of its source', async () => {
  const { port } = silent.address() as AddressInfo
  const id = await create('deb', 'silent', { url: `http://127.0.0.1:${port}/` })
  const first = await start({ source_ids: [id] })
  expect(first.body).toMatchObject({ already_running: false, status: 'running' })
  await expect
    .poll(async () => (await service.call('GET', `/import/sync/jobs/${first.body.job_id}`)).body.log_count)
    .toBeGreaterThan(0)
  for (const path of ['/import/sync', '/import/sync/start', '/import/sync-security', '/import/sync/start/all']) {
    const second = await service.call('POST', path)
    expect([path, second.body]).toEqual([
      path,
      expect.objectContaining({ already_running: true, job_id: first.body.job_id }),
    ])
  }
  expect((await service.call('GET', '/import/sync/jobs/active')).body).toMatchObject({ total: 1 })
  const cancelled = await service.call('POST', `/import/sync/jobs/${first.body.job_id}/cancel`)
  expect(cancelled.body).toMatchObject({ cancelled: true, job_id: first.body.job_id })
  expect((await streamed(first.body.job_id)).events.at(-1)).toMatchObject({ status: 'cancelled' })
  await expect.poll(async () => (await service.call('GET', '/tasks?kind=sync&state=running')).body.total).toBe(0)
  const again = await service.call('POST', `/import/sync/jobs/${first.body.job_id}/cancel`)
  expect(again.body).toMatchObject({ cancelled: false, status: 'cancelled' })
})

describe('the built-in sources', () => {
  it('are stored with their keys, and switched by the settings', async () => {
    const find = async (key: string) =>
      (await service.call('GET', '/import/sources')).body.sources.find((one: { key: string }) => one.key === key)
    expect(await find('ubuntu-jammy-security')).toMatchObject({
      ...{ type: 'apt', distribution: 'jammy-security', target: 'jammy', security: true, enabled: true, has_key: true },
      ...{ status: 'never', allow_unsigned: false },
    })
    const off = await service.call('PATCH', '/settings', { sources: { 'ubuntu-jammy-security': false } })
    expect(off.status).toBe(200)
    expect(await find('ubuntu-jammy-security')).toMatchObject({ enabled: false })
    const { body } = await service.call('GET', '/import/sync-schedule')
    expect(body).toMatchObject({ cron: '0 3 * * *', enabled: true })
    const labels = body.security_sources.map(({ label }: { label: string }) => label)
    expect(labels).toContain('Debian 12 security')
    expect(labels).not.toContain('Ubuntu 22.04 security')
  })

  it('cannot be deleted', async () => {
    expect((await service.call('DELETE', '/import/sources/debian-bookworm')).body.code).toBe('built_in_source')
  })
})
