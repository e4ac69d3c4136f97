// Importing several packages: the result of each, streams, tasks, dependencies and groups.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeAdvisories } from '../samples/osv.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { addSource, startAptUpstream, type AptUpstream } from './apt-upstream.ts'
import { readAdvisories } from './read-advisories.ts'

const DISTRIBUTION = 'jammy'
const PLAIN = Array.from({ length: 30 }, (_, i) => `plain-${i}`)

/** Each needs the next one, and the last needs the first. */
const CHAIN = Array.from({ length: 20 }, (_, i) => `chain-${i}`)

let directory: string
let upstream: AptUpstream
let service: Service
let source: number

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'import-many-'))
  const about = (name: string, severity: 'critical' | 'high') => ({
    ...{
      id: `SA-${name}`,
      ecosystem: 'Ubuntu:22.04:LTS',
      package: name,
      fixed: '9.0-1',
      cve: `CVE-2026-${name}`,
      severity,
    },
  })
  await writeAdvisories(directory, [
    ...[about('critical', 'critical'), about('high', 'high')],
    ...[about('critical-lib', 'critical'), about('high-lib', 'high')],
  ])
  upstream = await startAptUpstream()
  await upstream.offer([
    ...PLAIN.map((name) => ({ name })),
    ...['critical', 'high', 'changed', 'gone', 'other-bytes'].map((name) => ({ name })),
    { name: 'newer', version: '1.0-1' },
    { name: 'newer', version: '1.10-1' },
    { name: 'newer', version: '1.9-1' },
    { name: 'foreign', arch: 'arm64' },
    { name: 'app', fields: { Depends: 'lib-one (>= 1.0), absent | provider, plain-0' } },
    { name: 'lib-one', version: '0.9-1' },
    { name: 'lib-one', version: '1.1-1', fields: { Depends: 'lib-two' } },
    { name: 'lib-two', fields: { Depends: 'app' } },
    { name: 'real-provider', fields: { Provides: 'provider (= 2.0)' } },
    { name: 'with-blocked', fields: { Depends: 'middle' } },
    { name: 'middle', fields: { Depends: 'critical-lib, high-lib' } },
    ...['critical-lib', 'high-lib'].map((name) => ({ name })),
    { name: 'needy', fields: { Depends: 'nobody-has-it, lib-two' } },
    ...CHAIN.map((name, i) => ({
      name,
      fields: { Depends: `${CHAIN[(i + 1) % CHAIN.length]!}${i === 3 ? ', absent' : ''}` },
    })),
  ])
  service = await startService({ env: { SVC_OSV_DIR: directory } })
  await readAdvisories(service)
  source = await addSource(service, upstream, 'upstream', DISTRIBUTION)
  const changed = Object.keys(upstream.files).find((path) => path.includes('changed'))!
  upstream.files[changed] = Buffer.alloc(upstream.files[changed]!.length)
  upstream.files = Object.fromEntries(Object.entries(upstream.files).filter(([path]) => !path.includes('gone')))
})
afterAll(async () => {
  await service?.stop()
  await upstream?.close()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

const importing = (packages: unknown[], more: object = {}) =>
  service.call('POST', '/import/', { source_id: source, distribution: DISTRIBUTION, packages, ...more })
const served = async () =>
  (await readdir(join(service.reposDir, '.generations', 'deb'), { recursive: true })).filter((path) =>
    path.endsWith('.deb'),
  )
const index = async () => (await fetch(`${service.apt}/repos/dists/${DISTRIBUTION}/main/binary-amd64/Packages`)).text()
const statuses = (results: { package: string; status: string }[]) =>
  Object.fromEntries(results.map((one) => [one.package, one.status]))

describe('several packages in one answer', () => {
  it('each have a result, and one that fails does not stop the others', async () => {
    const { status, body } = await importing(
      ['plain-0', 'critical', 'high', 'changed', 'gone', 'foreign', 'never-heard-of'].map((name) =>
        name === 'foreign' ? { package: name, arch: 'arm64' } : name,
      ),
      { group: 'first' },
    )
    expect(status).toBe(200)
    expect(statuses(body.results)).toEqual({
      ...{ 'plain-0': 'added', critical: 'blocked', high: 'pending_review' },
      ...{ changed: 'error', gone: 'error', foreign: 'error', 'never-heard-of': 'error' },
    })
    expect(body).toMatchObject({ success: false, imported: 2, errors: 4, counts: { added: 1, blocked: 1 } })
    const codes = body.error_details.map((one: { package: string; code: string }) => [one.package, one.code])
    expect(Object.fromEntries(codes)).toEqual({
      ...{ changed: 'upstream_error', gone: 'upstream_error', foreign: 'arch_mismatch', 'never-heard-of': 'not_found' },
    })
  })

  it('are served only when the gate let them pass', async () => {
    const text = await index()
    expect(text).toContain('Package: plain-0\n')
    for (const name of ['critical', 'high']) expect(text).not.toContain(`Package: ${name}\n`)
    expect((await served()).some((path) => /\/(critical|high)_/.test(path))).toBe(false)
  })

  it('are audited one by one, also those that never arrived', async () => {
    const { body } = await service.call('GET', '/artifacts/audit/logs?action=IMPORT')
    const outcomes = body.items.map((one: { package: string; outcome: string }) => [one.package, one.outcome])
    expect(Object.fromEntries(outcomes)).toMatchObject({
      ...{ 'plain-0': 'published', critical: 'quarantined', high: 'pending_review' },
      ...{ changed: 'upstream_error', gone: 'upstream_error', foreign: 'arch_mismatch' },
    })
  })

  it('are skipped without a download when they are there already', async () => {
    upstream.log.length = 0
    const { body } = await importing(['plain-0', 'high', 'critical'])
    expect(statuses(body.results)).toEqual({ 'plain-0': 'skipped', high: 'skipped', critical: 'skipped' })
    expect(upstream.log).toEqual([])
  })

  it('are refused without a download when the distribution has them with other bytes', async () => {
    const { buildDeb } = await import('../samples/deb.ts')
    const other = await buildDeb({ name: 'other-bytes', files: { 'usr/other': 'x' } })
    expect((await service.upload(other, 'x.deb', { distribution: DISTRIBUTION })).status).toBe(201)
    upstream.log.length = 0
    const { body } = await importing(['other-bytes'])
    expect(body.results).toMatchObject([{ status: 'error', code: 'duplicate_conflict' }])
    expect(upstream.log).toEqual([])
  })

  it('are the newest by the order of the format, unless a version is named', async () => {
    const { body } = await importing(['newer', { package: 'newer', version: '1.0-1' }])
    expect(body.results.map((one: { version: string }) => one.version).sort()).toEqual(['1.0-1', '1.10-1'])
  })

  it.each([
    ['an unknown distribution', { distribution: 'nowhere' }, 'unknown_distribution'],
    ['no source', { source_id: undefined }, 'validation_error'],
    ['too many packages', { packages: Array.from({ length: 51 }, () => 'plain-1') }, 'validation_error'],
  ])('%s is refused as a whole', async (_, more, code) => {
    const { status, body } = await importing(['plain-1'], more)
    expect([status, body.code]).toEqual([400, code])
  })
})

it.each(['fetch', 'batch'])('/import/%s streams a result for each package, and the counts at the end', async (name) => {
  const reply = await fetch(`${service.api}/api/v1/import/${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ source_id: source, distribution: DISTRIBUTION, packages: ['plain-1', 'nothing'] }),
  })
  expect(reply.headers.get('content-type')).toContain('text/event-stream')
  const events = [...(await reply.text()).matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(
    ([, event, data]) => [event, JSON.parse(data!)] as const,
  )
  const results = events.filter(([event]) => event === 'result').map(([, data]) => data)
  expect(statuses(results)).toEqual({ 'plain-1': name === 'fetch' ? 'added' : 'skipped', nothing: 'error' })
  expect(events.at(-1)).toEqual(['end', expect.objectContaining({ status: 'done', errors: 1, success: false })])
})

describe('a bulk import', () => {
  let job: number

  it('runs as a task with the results of each package', async () => {
    const { status, body } = await service.call('POST', '/import/bulk', {
      ...{ source_id: source, distribution: DISTRIBUTION, packages: [...PLAIN, 'nothing'], group: 'bulk' },
    })
    expect([status, body.status, body.total]).toEqual([200, 'running', 31])
    job = body.job_id
    await expect.poll(async () => (await result()).status).toBe('done')
    expect(await result()).toMatchObject({
      ...{ success: false, imported: 28, errors: 1, done_count: 31, error_count: 1, group: 'bulk' },
      ...{ counts: { added: 28, skipped: 2, error: 1 }, error_details: [{ package: 'nothing', code: 'not_found' }] },
    })
    const text = await index()
    for (const name of PLAIN) expect(text).toContain(`Package: ${name}\n`)
  })

  it('publishes its packages together', () => {
    const published = service.log.filter((line) => typeof line === 'object' && line['msg'] === 'published')
    expect(published.length).toBeLessThan(20)
  })

  it('is not found under the id of another task', async () => {
    expect((await service.call('GET', `/import/bulk/${job + 1000}`)).body.code).toBe('not_found')
  })

  const result = async () => (await service.call('GET', `/import/bulk/${job}`)).body
})

describe('packages of one import that need each other', () => {
  it('miss nothing that came with them, in any order', async () => {
    const { body } = await importing(CHAIN)
    expect(body.counts).toMatchObject({ added: CHAIN.length })
    for (const [i, name] of CHAIN.entries()) {
      const { body: record } = await service.call('GET', `/artifacts/${name}`)
      const [version] = record.versions
      const left = i === 3 ? ['absent'] : []
      expect([name, version.deps_missing]).toEqual([name, left])
      const step = record.validation_steps.find((one: { name: string }) => one.name === 'dependencies')
      expect(step.message).toBe(
        i === 3 ? `not published in ${DISTRIBUTION}: absent` : 'every dependency is published here',
      )
    }
  })
})

describe('dependencies', () => {
  const resolve = (name: string) => service.call('GET', `/import/resolve/${name}?distribution=${DISTRIBUTION}`)

  it('are resolved over alternatives, versions and provides, also when they are circular', async () => {
    const { status, body } = await resolve('app')
    expect(status).toBe(200)
    expect(body).toMatchObject({ success: true, package: 'app', total_deps: 4, already_in_repo: 1, to_download: 3 })
    const listed = body.packages.map((one: Record<string, unknown>) => [one['name'], one['version'], one['needed_by']])
    expect(listed.sort()).toEqual([
      ['lib-one', '1.1-1', 'app'],
      ['lib-two', '1.0-1', 'lib-one'],
      ['plain-0', null, 'app'],
      ['real-provider', '1.0-1', 'app'],
    ])
  })

  it('that nobody has are named', async () => {
    const { body } = await resolve('needy')
    expect(body).toMatchObject({ success: false, missing: [{ name: 'nobody-has-it', needed_by: 'needy' }] })
    expect((await resolve('never-heard-of')).status).toBe(404)
  })

  it('come along with a package, before it', async () => {
    const { status, body } = await service.call('POST', '/import/packages', {
      ...{ source_id: source, package: 'app', version: '1.0-1', arch: 'amd64', distribution: DISTRIBUTION },
      with_dependencies: true,
    })
    expect([status, body.pipeline.dependencies]).toEqual([201, 'satisfied'])
    expect(statuses(body.results)).toEqual({ 'lib-one': 'added', 'lib-two': 'added', 'real-provider': 'added' })
    expect((await resolve('app')).body).toMatchObject({ to_download: 0, already_in_repo: 3 })
  })

  it('that the policy would block or hold are told before, and named by an import that did not bring them', async () => {
    const before = (await resolve('with-blocked')).body
    expect(before).toMatchObject({
      missing: [],
      policy: {
        actions: { block: 1, review: 1, allow: 2 },
        blocked: [{ name: 'critical-lib', version: '1.0-1', arch: 'amd64', findings: 1 }],
        held: [{ name: 'high-lib', findings: 1 }],
      },
    })
    const actions = before.packages.map((one: Record<string, unknown>) => [one['name'], one['action']])
    expect(Object.fromEntries(actions)).toEqual({ middle: 'allow', 'critical-lib': 'block', 'high-lib': 'review' })

    const { body } = await service.call('POST', '/import/packages', {
      ...{ source_id: source, package: 'with-blocked', version: '1.0-1', arch: 'amd64', distribution: DISTRIBUTION },
      with_dependencies: true,
    })
    expect(body).toMatchObject({ status: 'published', pipeline: { dependencies: 'missing' } })
    expect(body.warnings.slice(0, 2).sort()).toEqual([
      'the dependency critical-lib 1.0-1 (amd64) is quarantined',
      'the dependency high-lib 1.0-1 (amd64) is held for review',
    ])
    const step = body.validation.steps.find(({ name }: { name: string }) => name === 'dependencies')
    expect(step).toMatchObject({ passed: true, warning: true, message: expect.stringContaining('critical-lib') })

    const after = (await resolve('middle')).body
    const records = after.packages.map((one: Record<string, unknown>) => [one['name'], one['record_status']])
    expect(Object.fromEntries(records)).toEqual({ 'critical-lib': 'quarantined', 'high-lib': 'pending_review' })
  })

  it('that are held here are named as the cause why a package cannot be installed', async () => {
    const { body: started } = await service.call('POST', `/distributions/${DISTRIBUTION}/installability`)
    const ended = async () => (await service.call('GET', `/tasks/${started.task_id}`)).body.state as string
    await expect.poll(ended, { timeout: 60_000 }).toBe('done')
    const { body } = await service.call('GET', `/distributions/${DISTRIBUTION}/installability`)
    const middle = body.uninstallable.find(({ name }: { name: string }) => name === 'middle')
    expect(middle).toMatchObject({ installable_with_upstream: false })
    const [cause] = middle.causes
    const status = cause.relation === 'critical-lib' ? 'quarantined' : 'pending_review'
    expect(cause).toMatchObject({
      held: [{ name: cause.relation, version: '1.0-1', arch: 'amd64', status }],
      sentence: `middle 1.0-1 needs ${cause.relation}; ${cause.relation} 1.0-1 is here, ${status === 'quarantined' ? 'quarantined' : 'held for review'}`,
    })
  })

  it('come along with several packages', async () => {
    await service.call('DELETE', '/artifacts/lib-two')
    const { body } = await importing(['needy'], { with_dependencies: true })
    expect(statuses(body.results)).toEqual({ 'lib-two': 'added', needy: 'added' })
  })
})

describe('import groups', () => {
  it('list what was imported under their names', async () => {
    const { body } = await service.call('GET', '/import/groups')
    expect(body).toMatchObject({ total: 2, groups: [{ name: 'bulk', package_count: 28 }, { name: 'first' }] })
    expect(body.groups[1].packages.map((one: { name: string }) => one.name).sort()).toEqual([
      'critical',
      'high',
      'plain-0',
    ])
  })

  it('are deleted by maintainers, not by uploaders or readers, and readers import nothing', async () => {
    const as = async (role: string) => {
      const { body } = await service.call('POST', '/auth/api-tokens', { name: role, role })
      return { authorization: `Bearer ${body.token}` }
    }
    const [reader, uploader] = [await as('reader'), await as('uploader')]
    for (const headers of [reader, uploader])
      expect((await service.call('DELETE', '/import/groups/bulk', undefined, headers)).status).toBe(403)
    const body = { source_id: source, distribution: DISTRIBUTION, packages: ['plain-1'] }
    for (const path of ['/import/', '/import/fetch', '/import/batch', '/import/bulk'])
      expect((await service.call('POST', path, body, reader)).status).toBe(403)
    expect((await service.call('POST', '/import/', body, uploader)).body.counts).toMatchObject({ skipped: 1 })
  })

  it('are deleted as a whole', async () => {
    const { body } = await service.call('DELETE', '/import/groups/bulk')
    expect(body).toMatchObject({ status: 'deleted', name: 'bulk', deleted: 28 })
    expect(await index()).not.toContain('Package: plain-9\n')
    expect((await service.call('DELETE', '/import/groups/bulk')).status).toBe(404)
    const { body: log } = await service.call('GET', '/artifacts/audit/logs?action=IMPORT_GROUP_DELETE')
    expect(log.items).toMatchObject([{ user: 'admin', extra: { import_group: 'bulk', deleted: 28 } }])
  })
})
