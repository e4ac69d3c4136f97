// Mirrors of real repositories on loopback: selection, plan, runs within their limits, withdrawn packages.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FormatId } from '../formats.ts'
import { buildApk } from '../samples/apk.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { buildRpm } from '../samples/rpm.ts'
import { waitFor } from '../crash/state.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { addSource, startAptUpstream, type AptUpstream } from './apt-upstream.ts'
import { readAdvisories } from './read-advisories.ts'

const CODENAME = 'jammy'
let directory: string
let apt: AptUpstream
let service: Service

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mirror-'))
  const about = (name: string, severity: 'critical' | 'high') => ({
    ...{ id: `SA-${name}`, ecosystem: 'Ubuntu:22.04:LTS', package: name, fixed: '9.0-1', severity },
    cve: `CVE-2026-${name}`,
  })
  await writeAdvisories(directory, [about('p-critical', 'critical'), about('p-high', 'high')])
  apt = await startAptUpstream()
  service = await startService({ env: { SVC_OSV_DIR: directory, REPO_FORMAT: 'all' } })
  await readAdvisories(service)
})
afterAll(async () => {
  await service?.stop()
  await apt?.close()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

interface Job {
  job_id: number
  status: string
  message: string | null
  [key: string]: unknown
}

const call = async (method: string, path: string, body?: unknown) => {
  const reply = await service.call(method, path, body)
  expect([path, reply.status, reply.body]).toEqual([path, 200, expect.anything()])
  return reply.body
}
const put = (id: number, selection: object) => call('PUT', `/import/mirror/sources/${id}`, selection)
const limits = (mirror: object) => call('PATCH', '/settings/', { mirror })
const names = (packages: { name: string; version: string }[]) =>
  packages.map(({ name, version }) => `${name} ${version}`)

const ended = (id: number): Promise<Job> =>
  waitFor('the end of the run', async () => {
    const job = (await call('GET', `/import/mirror/jobs/${id}`)) as Job
    return job.status !== 'running' && job
  })

/** Starts a run and waits for its end. */
async function run(id: number, query = ''): Promise<Job> {
  const job = (await call('POST', `/import/mirror/start/${id}${query}`)) as Job
  expect(job).toMatchObject({ source_id: id, already_running: false })
  return ended(job.job_id)
}

async function records(codename: string, prefix: string): Promise<Record<string, string>> {
  const { items } = await call('GET', `/artifacts/?distribution=${codename}&search=${prefix}&per_page=200`)
  return Object.fromEntries(
    (items as { name: string; version: string; status: string }[]).map(({ name, version, status }) => [
      `${name} ${version}`,
      status,
    ]),
  )
}

describe('a mirror of an apt source', () => {
  const SELECTION = { distribution: CODENAME, globs: ['p-*'], exclude: ['*-doc'] }
  const PLAIN = ['p-a', 'p-b', 'p-c', 'p-critical', 'p-doc', 'p-high', 'other']
  let id: number

  beforeAll(async () => {
    await apt.offer([...PLAIN.map((name) => ({ name })), { name: 'p-a', version: '2.0-1' }])
    id = await addSource(service, apt, 'apt')
  })

  it('is not there before its selection is set', async () => {
    for (const [method, path] of [
      ['GET', `/import/mirror/sources/${id}`],
      ['GET', `/import/mirror/sources/${id}/plan`],
      ['POST', `/import/mirror/start/${id}`],
      ['DELETE', `/import/mirror/sources/${id}`],
    ] as const)
      expect((await service.call(method, path)).body.code).toBe('not_found')
    const { sources } = await call('GET', '/import/mirror/sources')
    expect(sources).toContainEqual(expect.objectContaining({ id, distribution: null, enabled: false, last_job: null }))
  })

  it.each([
    ['a distribution of another format', { ...SELECTION, distribution: 'alpine3.21' }, 'format_mismatch'],
    ['an unknown distribution', { ...SELECTION, distribution: 'warty' }, 'unknown_distribution'],
    ['no names', { distribution: CODENAME }, 'validation_error'],
    ['a negative number of versions', { ...SELECTION, keep_latest: -1 }, 'validation_error'],
  ])('is refused with %s', async (_, body, code) => {
    expect((await service.call('PUT', `/import/mirror/sources/${id}`, body)).body.code).toBe(code)
  })

  it('has a selection, which a person sets', async () => {
    expect(await put(id, SELECTION)).toMatchObject({
      ...{ id, distribution: CODENAME, enabled: true, updated_by: 'admin' },
      selection: { globs: ['p-*'], exclude: ['*-doc'], names: [], keep_latest: 1, remove_withdrawn: false },
    })
    const { items } = await call('GET', '/artifacts/audit/logs?action=SOURCE_UPDATE')
    expect(items[0]).toMatchObject({ user: 'admin', detail: `apt: mirrored into ${CODENAME}` })
  })

  it('plans what would come and what the policy would say of it, and fetches nothing', async () => {
    apt.log.length = 0
    const plan = await call('GET', `/import/mirror/sources/${id}/plan`)
    expect(plan).toMatchObject({ selected: 5, missing: 5, present: 0, conflicts: 0, withdrawn: { total: 0 } })
    expect(names(plan.packages)).toEqual(['p-a 2.0-1', 'p-b 1.0-1', 'p-c 1.0-1', 'p-critical 1.0-1', 'p-high 1.0-1'])
    expect(plan.policy.actions).toEqual({ allow: 3, warn: 0, review: 1, block: 1 })
    expect(plan.policy).toMatchObject({
      ...{ unscanned: 0, blocked: [{ name: 'p-critical', findings: 1 }], held: [{ name: 'p-high', findings: 1 }] },
    })
    const wanted = plan.packages.map(
      ({ name, version }: { name: string; version: string }) => `pool/${name}_${version}_amd64.deb`,
    )
    expect(plan.missing_bytes).toBe(wanted.reduce((sum: number, path: string) => sum + apt.files[path]!.length, 0))
    expect(plan.limits).toMatchObject({ packages_per_run: 200, runs: 1, fits: true })
    expect(apt.log).toEqual([])
    const other = await call('POST', `/import/mirror/sources/${id}/plan`, { distribution: CODENAME, names: ['other'] })
    expect(names(other.packages)).toEqual(['other 1.0-1'])
  })

  it('plans no package whose name is reserved', async () => {
    const { body: reservation } = await service.call('POST', '/import/reservations', { pattern: 'p-b*' })
    const plan = await call('GET', `/import/mirror/sources/${id}/plan`)
    expect(plan).toMatchObject({ selected: 5, missing: 4, reserved: 1 })
    expect(names(plan.reserved_packages)).toEqual(['p-b 1.0-1'])
    expect(names(plan.packages)).not.toContain('p-b 1.0-1')
    await call('DELETE', `/import/reservations/${reservation.id}`)
  })

  it('stops at the number of packages, and the next run continues', async () => {
    await limits({ max_packages_per_run: 2 })
    const first = await run(id)
    expect(first).toMatchObject({ status: 'done', total: 2, added: 2, stopped: 'max_packages_per_run' })
    expect(await records(CODENAME, 'p-')).toEqual({ 'p-a 2.0-1': 'published', 'p-b 1.0-1': 'published' })
    expect(await call('GET', `/import/mirror/sources/${id}`)).toMatchObject({ continue_after: 'p-b', last_job: first })
    await limits({ max_packages_per_run: 200 })
    expect(await run(id, '?limit=1')).toMatchObject({ added: 1, stopped: 'max_packages_per_run' })
    const last = await run(id)
    expect(last).toMatchObject({ status: 'done', added: 0, pending: 1, blocked: 1, error: 0, stopped: null, total: 2 })
  })

  it('has the same results as an upload, and an audit entry', async () => {
    expect(await records(CODENAME, 'p-')).toEqual({
      ...{ 'p-a 2.0-1': 'published', 'p-b 1.0-1': 'published', 'p-c 1.0-1': 'published' },
      ...{ 'p-critical 1.0-1': 'quarantined', 'p-high 1.0-1': 'pending_review' },
    })
    const { versions } = await call('GET', '/artifacts/p-a')
    expect(versions[0]).toMatchObject({ served: true, source: { import_method: 'mirror', source_id: id } })
    const { items } = await call('GET', '/artifacts/audit/logs?action=MIRROR')
    expect(items.map((entry: any) => [entry.result, entry.outcome, entry.extra.added])).toEqual([
      ['WARNING', 'ok', 0],
      ['WARNING', 'max_packages_per_run', 1],
      ['WARNING', 'max_packages_per_run', 2],
    ])
  })

  it('imports nothing twice, and fetches nothing for it', async () => {
    apt.log.length = 0
    expect(await run(id)).toMatchObject({ status: 'done', total: 0, added: 0, skipped: 0, error: 0 })
    expect(apt.log.filter((line) => line.startsWith('pool/'))).toEqual([])
  })

  it('does not import below the least free disk space', async () => {
    await apt.offer([...PLAIN, 'p-d'].map((name) => ({ name, version: name === 'p-a' ? '2.0-1' : '1.0-1' })))
    await limits({ min_free_disk_gb: 100_000 })
    apt.log.length = 0
    // It does not read a new catalog either.
    expect(await run(id)).toMatchObject({ status: 'done', total: 0, added: 0, stopped: 'min_free_disk_gb' })
    await limits({ min_free_disk_gb: 1 })
    await service.call('POST', `/import/sync/${id}`)
    await expect.poll(async () => (await call('GET', `/import/mirror/sources/${id}/plan`)).missing).toBe(1)
    await limits({ min_free_disk_gb: 100_000 })
    expect(await run(id)).toMatchObject({ status: 'done', total: 1, added: 0, stopped: 'min_free_disk_gb' })
    expect(apt.log.filter((line) => line.startsWith('pool/'))).toEqual([])
    expect((await call('GET', `/import/mirror/sources/${id}/plan`)).limits).toMatchObject({ fits: false })
    await limits({ min_free_disk_gb: 1 })
    expect(await run(id)).toMatchObject({ added: 1, stopped: null })
  })

  it('reports other bytes under a known name, version and architecture, and keeps the record', async () => {
    const changed = { name: 'p-b', fields: { Homepage: 'https://example.org/' } }
    await apt.offer([{ name: 'p-a', version: '2.0-1' }, changed, { name: 'p-d' }])
    const job = await run(id)
    expect(job).toMatchObject({ status: 'done', total: 0, error: 0 })
    expect((await call('GET', `/import/mirror/sources/${id}/plan`)).conflicting).toMatchObject([{ name: 'p-b' }])
    const { lines } = await call('GET', `/tasks/${job.job_id}`)
    expect(lines.map(({ message }: { message: string }) => message).join('\n')).toContain(
      'p-b 1.0-1 (amd64) is not imported',
    )
  })

  it('reports what upstream withdrew, and removes it only if the selection says so', async () => {
    const { withdrawn } = await call('GET', `/import/mirror/sources/${id}/plan`)
    expect(names(withdrawn.packages)).toEqual(['p-c 1.0-1', 'p-critical 1.0-1', 'p-high 1.0-1'])
    expect(await run(id)).toMatchObject({ withdrawn: 3, removed: 0 })
    await put(id, { ...SELECTION, remove_withdrawn: true })
    expect(await run(id)).toMatchObject({ status: 'done', withdrawn: 3, removed: 2 })
    // Packages that a check or a person refused stay, so that they are not imported again.
    expect(Object.keys(await records(CODENAME, 'p-'))).toEqual(
      expect.arrayContaining(['p-a 2.0-1', 'p-b 1.0-1', 'p-critical 1.0-1', 'p-d 1.0-1']),
    )
    expect(await records(CODENAME, 'p-c')).not.toHaveProperty('p-c 1.0-1')
    const { items } = await call('GET', '/artifacts/audit/logs?action=DELETE')
    expect(items[0]).toMatchObject({ user: 'admin', extra: { withdrawn_from: id } })
  })

  it('deletes nothing when the source withdraws more than a twentieth, until a person allows it', async () => {
    const many = Array.from({ length: 22 }, (_, n) => ({ name: `p-z${n}` }))
    await apt.offer([{ name: 'p-a', version: '2.0-1' }, { name: 'p-d' }, ...many])
    await put(id, { ...SELECTION, remove_withdrawn: true })
    expect(await run(id)).toMatchObject({ status: 'done', added: 22 })
    await apt.offer([{ name: 'p-a', version: '2.0-1' }, { name: 'p-d' }])
    expect(await run(id)).toMatchObject({ removed: 0, stopped: 'remove_at_most_percent' })
    expect(Object.keys(await records(CODENAME, 'p-z'))).toHaveLength(22)
    await put(id, { ...SELECTION, remove_withdrawn: true, remove_at_most_percent: 100 })
    expect(await run(id)).toMatchObject({ removed: 22, stopped: null })
    await put(id, { ...SELECTION, remove_withdrawn: true })
  })

  it('fails when the catalog cannot be read, and says why', async () => {
    apt.intercept = (_, response, path) => {
      if (!path.includes('Release')) return false
      response.writeHead(404).end()
      return true
    }
    const job = await run(id)
    apt.intercept = null
    expect(job).toMatchObject({ status: 'error', message: expect.stringContaining('the catalog could not be read') })
    const { items } = await call('GET', '/artifacts/audit/logs?action=MIRROR&result=FAILURE')
    expect(items[0]).toMatchObject({ outcome: 'upstream_error', extra: { source_id: id } })
  })

  it('fetches what was refused once, until the package or the rules of the gate change', async () => {
    const broken = { name: 'p-broken', bytes: Buffer.from('no package') }
    await apt.offer([{ name: 'p-critical' }, broken])
    const first = await run(id)
    expect(first).toMatchObject({ status: 'error', total: 1, error: 1, refused: 0 })
    expect(first.message).toContain('1 of 1 packages were not imported')
    await service.call('DELETE', '/artifacts/p-critical')
    const fetched = () => apt.log.filter((line) => line.startsWith('pool/'))

    apt.log.length = 0
    const job = await run(id)
    expect(job).toMatchObject({ status: 'done', total: 0, error: 0, refused: 2, message: null })
    expect(fetched()).toEqual([])
    const { lines } = await call('GET', `/tasks/${job.job_id}`)
    expect(lines.map(({ message }: { message: string }) => message).join('\n')).toContain(
      'p-broken 1.0-1 (amd64) is not imported: these bytes were refused before',
    )
    const plan = await call('GET', `/import/mirror/sources/${id}/plan`)
    expect(plan).toMatchObject({ selected: 2, missing: 0, refused: 2 })
    expect(plan.refused_packages).toMatchObject([
      { name: 'p-broken', code: 'invalid_package' },
      { name: 'p-critical', code: 'quarantined' },
    ])

    await apt.offer([{ name: 'p-critical' }, { name: 'p-broken' }])
    expect(await run(id)).toMatchObject({ total: 1, added: 1, refused: 1 })
    await call('PATCH', '/settings/', { cve_policy: { critical: 'warn' } })
    expect(await run(id)).toMatchObject({ total: 1, added: 1, refused: 0 })
    await call('PATCH', '/settings/', { cve_policy: { critical: 'block' } })
  })

  it('that is removed imports nothing more', async () => {
    expect(await call('DELETE', `/import/mirror/sources/${id}`)).toMatchObject({ status: 'deleted', id })
    expect((await service.call('POST', `/import/mirror/start/${id}`)).status).toBe(404)
  })
})

describe('a run that is under way', () => {
  const hanging = new Set<() => void>()
  let slow: AptUpstream
  let id: number
  let job: Job

  beforeAll(async () => {
    slow = await startAptUpstream()
    await slow.offer(['s-a', 's-b'].map((name) => ({ name })))
    // Its second package never arrives completely: one byte is sent every second.
    slow.intercept = (_, response, path) => {
      if (!path.includes('s-b')) return false
      response.writeHead(200, { 'content-length': slow.files[path]!.length })
      const timer = setInterval(() => response.write('x'), 1000)
      const stop = () => clearInterval(timer)
      hanging.add(stop)
      response.on('close', stop)
      return true
    }
    id = await addSource(service, slow, 'slow')
    await put(id, { distribution: CODENAME, globs: ['*'] })
    await limits({ max_runtime_minutes: 1 })
    job = (await call('POST', `/import/mirror/start/${id}`)) as Job
  })
  afterAll(async () => {
    for (const stop of hanging) stop()
    await slow?.close()
  })

  it('is joined by a second request', async () => {
    const second = await call('POST', `/import/mirror/start/${id}`)
    expect(second).toMatchObject({ job_id: job.job_id, already_running: true, status: 'running' })
    const { jobs } = await call('GET', '/import/mirror/jobs/active')
    expect(jobs).toMatchObject([{ job_id: job.job_id, source_id: id, label: 'mirror of slow' }])
  })

  it('ends after the longest time, with what it imported until then', async () => {
    expect(await ended(job.job_id)).toMatchObject({
      status: 'done',
      added: 1,
      error: 0,
      stopped: 'max_runtime_minutes',
    })
    expect(await records(CODENAME, 's-')).toEqual({ 's-a 1.0-1': 'published' })
  })

  it('is cancelled, and keeps what it imported', async () => {
    const again = (await call('POST', `/import/mirror/start/${id}`)) as Job
    await waitFor('the transfer', async () => hanging.size > 1)
    expect(await call('POST', `/import/mirror/jobs/${again.job_id}/cancel`)).toMatchObject({ cancelled: true })
    expect(await ended(again.job_id)).toMatchObject({ status: 'cancelled', added: 0 })
    expect(await call('POST', `/import/mirror/jobs/${again.job_id}/cancel`)).toMatchObject({ cancelled: false })
    slow.intercept = null
    expect(await run(id)).toMatchObject({ status: 'done', added: 1, stopped: null })
  })

  it('streams its lines and its end', async () => {
    const reply = await fetch(`${service.api}/api/v1/import/mirror/jobs/${job.job_id}/stream`, {
      headers: { authorization: `Bearer ${service.token}` },
    })
    const events = [...(await reply.text()).matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!))
    expect(events.at(-1)).toMatchObject({ job_id: job.job_id, status: 'done', added: 1 })
    expect(events.map(({ message }) => message).join('\n')).toContain('max_runtime_minutes is reached')
  })
})

describe('the schedule', () => {
  it('is that of the settings, and plans the next run', async () => {
    expect(await call('GET', '/import/mirror/schedule')).toMatchObject({ enabled: false, next_run: null })
    const schedule = await call('POST', '/import/mirror/schedule', {
      enabled: true,
      hour: 1,
      minute: 2,
      timezone: 'UTC',
    })
    expect(schedule).toMatchObject({ enabled: true, next_run: expect.stringContaining('T01:02:00') })
    expect((await call('GET', '/settings/')).mirror).toMatchObject({ enabled: true, hour: 1, minute: 2 })
    const wrong = await service.call('POST', '/import/mirror/schedule', { hour: 25 })
    expect(wrong.body.code).toBe('validation_error')
  })

  it('includes the sources that are switched on', async () => {
    const enabledOf = async () => {
      const { sources } = await call('GET', '/import/mirror/sources')
      return sources.find(({ label }: { label: string }) => label === 'slow')
    }
    const { id, enabled } = await enabledOf()
    expect(enabled).toBe(true)
    await call('POST', '/import/mirror/sources', { sources: { [id]: false } })
    expect(await enabledOf()).toMatchObject({ enabled: false })
    await call('POST', '/import/mirror/sources', { sources: { [id]: null } })
    expect(await enabledOf()).toMatchObject({ enabled: true })
    const { body } = await service.call('POST', '/import/mirror/sources', { sources: { 987: true } })
    expect(body.code).toBe('unknown_key')
  })
})

describe('mirrors of another service', () => {
  let upstream: Service
  const CASES: [FormatId, string, string, (name: string) => Promise<Buffer> | Buffer][] = [
    ['rpm', 'almalinux9', 'x86_64', (name) => buildRpm({ name, version: '1.0', release: '1', arch: 'noarch' })],
    ['apk', 'alpine3.21', 'x86_64', (name) => buildApk({ name, version: '1.0-r1', arch: 'noarch' })],
  ]
  beforeAll(async () => {
    upstream = await startService({ env: { REPO_FORMAT: 'all' } })
    for (const [format, codename, , build] of CASES)
      for (const name of ['one', 'two']) {
        const { status } = await upstream.upload(await build(`${format}-${name}`), 'any', { distribution: codename })
        expect(status).toBe(201)
      }
  })
  afterAll(() => upstream?.stop())

  it.each(CASES)('import packages for all architectures once: %s', async (format, codename, arch) => {
    const key = format === 'rpm' ? 'repos/gpg.key' : 'apk/svc.rsa.pub'
    const { status, body: source } = await service.call('POST', '/import/sources', {
      ...{ name: format, type: format, arch },
      url: format === 'rpm' ? `${upstream.rpm}/repos/${codename}/${arch}` : `${upstream.apt}/apk/${codename}/main`,
      gpg_key: await (await fetch(`${upstream.apt}/${key}`)).text(),
    })
    expect(status).toBe(201)
    await put(source.id, { distribution: codename, globs: ['*'] })
    const early = await service.call('GET', `/import/mirror/sources/${source.id}/plan`)
    expect(early.body.code).toBe('index_empty')
    expect(await run(source.id)).toMatchObject({ status: 'done', total: 2, added: 2, error: 0, stopped: null })
    expect(Object.values(await records(codename, format))).toEqual(['published', 'published'])
    expect(await run(source.id)).toMatchObject({ status: 'done', total: 0, added: 0, skipped: 0, withdrawn: 0 })
  })
})
