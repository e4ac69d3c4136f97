// Promotion and migration: packages are copied with their verdicts and decisions, and judged by the advisories of their new
// distribution before it offers them. Held or refused packages are not copied.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FormatId } from '../formats.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { readAdvisories } from './read-advisories.ts'

interface Kind {
  from: string
  to: string
  /** their ecosystems */
  ecosystems: [from: string, to: string]
  version(number: number): string
  build(name: string, number: number): Promise<Buffer> | Buffer
  /** the text of a distribution's index, as clients read it */
  index(codename: string): Promise<string>
}

let directory: string
let service: Service
const read = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer())

const KINDS: Record<FormatId, Kind> = {
  deb: {
    from: 'jammy',
    to: 'noble',
    ecosystems: ['Ubuntu:22.04:LTS', 'Ubuntu:24.04:LTS'],
    version: (number) => `${number}.0-1`,
    build: (name, number) => buildDeb({ name, version: `${number}.0-1` }),
    index: async (codename) =>
      (await read(`${service.apt}/repos/dists/${codename}/main/binary-amd64/Packages`)).toString(),
  },
  rpm: {
    from: 'almalinux9',
    to: 'rocky9',
    ecosystems: ['AlmaLinux:9', 'Rocky Linux:9'],
    version: (number) => `${number}.0-1`,
    build: (name, number) => buildRpm({ name, version: `${number}.0`, release: '1', arch: 'x86_64' }),
    async index(codename) {
      const repository = `${service.rpm}/repos/${codename}/x86_64`
      const repomd = (await read(`${repository}/repodata/repomd.xml`)).toString()
      const href = /repodata\/[^"]*primary\.xml\.gz/.exec(repomd)?.[0]
      return gunzipSync(await read(`${repository}/${href}`)).toString()
    },
  },
  apk: {
    from: 'alpine3.20',
    to: 'alpine3.21',
    ecosystems: ['Alpine:v3.20', 'Alpine:v3.21'],
    version: (number) => `${number}.0-r1`,
    build: (name, number) => buildApk({ name, version: `${number}.0-r1` }),
    index: async (codename) =>
      gunzipSync(await read(`${service.apt}/apk/${codename}/main/x86_64/APKINDEX.tar.gz`)).toString('latin1'),
  },
}
const FORMATS = Object.keys(KINDS) as FormatId[]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gate-promote-'))
  await writeAdvisories(
    directory,
    FORMATS.flatMap((format) => {
      const [from, to] = KINDS[format].ecosystems
      const about = (name: string, ecosystem: string, cve: string) => ({
        id: `SA-${format}-${name}-${cve}-${ecosystem === from ? 'from' : 'to'}`,
        ...{ ecosystem, package: name, fixed: null, cve, severity: 'high' as const },
      })
      return [
        about('accepted', from, 'CVE-2026-1001'),
        about('accepted', to, 'CVE-2026-1001'),
        about('worse', from, 'CVE-2026-1002'),
        about('worse', to, 'CVE-2026-1002'),
        about('worse', to, 'CVE-2026-1003'),
        about('held', from, 'CVE-2026-1004'),
      ]
    }),
  )
  service = await startService({ env: { SVC_OSV_DIR: directory, REPO_FORMAT: 'all' } })
  await readAdvisories(service)
})
afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

describe.each(FORMATS)('%s', (format) => {
  const { from, to, version, build, index } = KINDS[format]
  const upload = async (name: string, number = 1, distribution = from) =>
    service.upload(await build(name, number), `any.${format}`, { distribution })
  const promote = (name: string, more: object = {}) =>
    service.call('POST', '/distributions/promote', { package: name, from_dist: from, to_dist: to, ...more })
  const decide = (name: string, decision: string, distribution = from) =>
    service.call('POST', `/security/packages/${name}/${encodeURIComponent(version(1))}/decide`, {
      ...{ decision, justification: 'looked at', distribution },
    })
  const record = async (name: string, distribution = to) =>
    (await service.call('GET', `/artifacts/${name}`)).body.versions.find(
      (one: { distribution: string }) => one.distribution === distribution,
    )

  it('a package comes along with its findings and the decision about them, and the source keeps it', async () => {
    await upload('accepted')
    await decide('accepted', 'approve')
    const { status, body } = await promote('accepted')
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        ...{ status: 'ok', package: 'accepted', from, to },
        versions: [{ package: 'accepted', version: version(1), arch: expect.any(String), result: 'promoted' }],
      }),
    ])
    expect(await index(to)).toContain('accepted')
    expect(await index(from)).toContain('accepted')
    expect(await record('accepted')).toMatchObject({
      status: 'published',
      served: true,
      source: { import_method: 'promotion', promoted_from: from, imported_by: 'admin' },
      decision: { action: 'accept_risk', justification: 'looked at', distribution: to },
      cve_results: [{ id: 'CVE-2026-1001', accepted_by_decision: true }],
      coverage: { cve_scan: { distro_matched: KINDS[format].ecosystems[1] } },
    })
    const { body: log } = await service.call('GET', '/artifacts/audit/logs?action=PROMOTE&package=accepted')
    expect(log.items[0]).toMatchObject({ user: 'admin', distribution: to, detail: `from ${from}` })
    expect((await promote('accepted')).body.versions).toMatchObject([{ result: 'already_present' }])
  })

  it("what only the target's advisories say sends the package to review before it is served", async () => {
    await upload('worse')
    await decide('worse', 'approve')
    const { status, body } = await promote('worse')
    expect([status, body]).toMatchObject([200, { status: 'ok', versions: [{ result: 'promoted' }] }])
    expect(body.message).toContain('1 is held there and not served')
    expect(body.warnings).toEqual([expect.stringContaining(`is pending_review in ${to} and not served`)])
    expect(await record('worse')).toMatchObject({ status: 'pending_review', served: false, held_reason: 'cve_review' })
    expect(await record('worse', from)).toMatchObject({ status: 'published', served: true })
    expect(await index(to)).not.toContain('worse')
  })

  it('the newest version of the source is promoted, or the one that is named', async () => {
    for (const number of [1, 10, 9]) await upload('many', number)
    expect((await promote('many')).body.versions).toMatchObject([{ version: version(10) }])
    expect((await promote('many', { version: version(9) })).body.versions).toMatchObject([{ version: version(9) }])
    expect((await promote('many', { version: version(7) })).body.code).toBe('not_found')
  })

  it('several are promoted in one call, and each has its own answer', async () => {
    for (const name of ['first', 'second', 'kept']) await upload(name)
    const packages = [
      'first',
      { package: 'second', version: version(1) },
      'nobody',
      { package: 'kept', version: version(7) },
      'first',
    ]
    const promoteAll = (more: object = {}) =>
      service.call('POST', '/distributions/promote', { packages, from_dist: from, to_dist: to, ...more })
    const expected = {
      results: [
        { package: 'first', version: null, arch: null, status: 'ok', code: null, detail: null },
        { package: 'second', version: version(1), status: 'ok' },
        { package: 'nobody', status: 'error', code: 'not_found', detail: expect.stringContaining('nobody') },
        { package: 'kept', version: version(7), status: 'error', code: 'not_found' },
        { package: 'first', status: 'ok' },
      ],
      versions: ['first', 'second', 'first'].map((name) => ({
        package: name,
        version: version(1),
        result: 'promoted',
      })),
    }
    expect((await promoteAll({ dry_run: true })).body).toMatchObject({ status: 'dry_run', ...expected })
    expect(await index(to)).not.toContain('second')

    const { status, body } = await promoteAll()
    expect([status, body]).toMatchObject([200, { status: 'partial', ...expected }])
    expect(body.message).toContain('2 of 5 packages failed')
    expect(await index(to)).toContain('first')
    expect(await index(to)).toContain('second')
    expect(await index(to)).not.toContain('kept')
    expect((await promoteAll()).body.versions).toMatchObject(
      Array.from({ length: 3 }, () => ({ result: 'already_present' })),
    )
    const { body: log } = await service.call('GET', '/artifacts/audit/logs?action=PROMOTE&package=second')
    expect(log.items.filter(({ distribution }: Record<string, string>) => distribution === to)).toHaveLength(1)
  })

  it.runIf(format === 'deb')('what packages of one call need of each other is there', async () => {
    const needing = await buildDeb({ name: 'needing', version: version(1), fields: { Depends: 'needed-lib' } })
    await service.upload(needing, 'a.deb', { distribution: from })
    await upload('needed-lib')
    const call = (packages: string[], dry_run: boolean) =>
      service.call('POST', '/distributions/promote', { packages, from_dist: from, to_dist: to, dry_run })
    expect((await call(['needing'], true)).body.warnings).toEqual([expect.stringContaining('lacks: needed-lib')])
    expect((await call(['needing', 'needed-lib'], true)).body.warnings).toEqual([])
    expect((await call(['needing', 'needed-lib'], false)).body).toMatchObject({ status: 'ok', warnings: [] })
    expect(await record('needing')).toMatchObject({ deps_missing: [] })
    for (const name of ['needing', 'needed-lib']) await service.call('DELETE', `/artifacts/${name}`)
  })

  it('one that cannot be copied leaves the others of the call to themselves, and bounds hold', async () => {
    for (const name of ['good', 'unapproved']) await upload(name)
    if (format === 'deb') {
      await upload('clash')
      const other = await buildDeb({ name: 'clash', version: version(1), files: { a: 'b' } })
      await service.upload(other, 'a.deb', { distribution: to })
    }
    const call = (more: object) =>
      service.call('POST', '/distributions/promote', { from_dist: from, to_dist: to, ...more })
    const { body } = await call({ packages: ['good', 'clash'] })
    expect(body.results).toMatchObject([
      { status: 'ok' },
      { status: 'error', code: format === 'deb' ? 'duplicate_conflict' : 'not_found' },
    ])
    expect(await index(to)).toContain('good')
    expect((await call({ packages: Array.from({ length: 201 }, () => 'good') })).status).toBe(400)
    expect((await call({ packages: ['good'], package: 'good' })).body.code).toBe('validation_error')
    expect((await call({})).body.code).toBe('validation_error')
    expect((await call({ packages: ['good'], to_dist: 'nowhere' })).body.code).toBe('unknown_distribution')
  })

  it('what is held, was rejected in the target or differs there is refused, and nothing changes', async () => {
    await upload('held')
    expect((await promote('held')).body.code).toBe('not_published')
    await upload('twin')
    const other = format === 'deb' ? await buildDeb({ name: 'twin', version: version(1), files: { a: 'b' } }) : null
    if (other) {
      await service.upload(other, 'a.deb', { distribution: to })
      expect((await promote('twin')).body).toMatchObject({ code: 'duplicate_conflict' })
    }
    const elsewhere = FORMATS.find((one) => one !== format) as FormatId
    expect((await promote('twin', { to_dist: KINDS[elsewhere].to })).body.code).toBe('format_mismatch')
    expect((await promote('twin', { to_dist: 'nowhere' })).body.code).toBe('unknown_distribution')
    expect(await index(to)).not.toContain('held')
  })

  it('every published package is migrated once; the held one stays behind', async () => {
    // `clash` and `twin` have other bytes in noble.
    const failed = format === 'deb' ? 2 : 0
    const { status, body } = await service.call('POST', '/distributions/migrate', { from_dist: from, to_dist: to })
    expect(status).toBe(200)
    // `worse`, which the target holds by now, is an error too.
    expect(body).toMatchObject({ status: 'partial', from, to, failed: failed + 1 })
    expect(body.errors.map(({ package: name, code }: Record<string, string>) => [name, code])).toEqual([
      ...(failed ? ['clash', 'twin'].map((name) => [name, 'duplicate_conflict']) : []),
      ['worse', 'not_published'],
    ])
    expect(body.packages.map((one: { package: string }) => one.package)).toEqual([
      ...['kept', 'many', ...(failed ? [] : ['twin']), 'unapproved'],
    ])
    // `accepted`, `first`, `good`, `second`, and `many` in two versions, were promoted before.
    expect(body.skipped).toBe(6)
    expect(await index(to)).not.toContain('held')
    const again = await service.call('POST', '/distributions/migrate', { from_dist: from, to_dist: to })
    expect(again.body).toMatchObject({ migrated: 0, failed: failed + 1 })
    const { body: task } = await service.call('GET', `/tasks/${body.task_id}`)
    expect(task).toMatchObject({ kind: 'migrate', state: 'done', created_by: 'admin' })
  })

  it('a package that was deleted from the source is still installed from the target', async () => {
    expect((await service.call('DELETE', `/artifacts/accepted?distribution=${from}`)).status).toBe(200)
    expect(await index(from)).not.toContain('accepted')
    expect(await index(to)).toContain('accepted')
  })
})
