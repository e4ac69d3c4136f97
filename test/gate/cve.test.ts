// The gate with advisories: packages that the policy holds or blocks are not served until a person approves them, and new
// advisories send published packages to review while they stay served.
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
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
  /** the text of the index that clients read */
  index(): Promise<string>
}

let directory: string
let service: Service

const text = async (url: string) => (await fetch(url)).text()
const KINDS: Record<FormatId, Kind> = {
  deb: {
    codename: 'jammy',
    ecosystem: 'Ubuntu:22.04:LTS',
    version: (number) => `${number}.0-1`,
    build: (name, number) => buildDeb({ name, version: `${number}.0-1` }),
    index: () => text(`${service.apt}/repos/dists/jammy/main/binary-amd64/Packages`),
  },
  rpm: {
    codename: 'almalinux9',
    ecosystem: 'AlmaLinux:9',
    version: (number) => `${number}.0-1`,
    build: (name, number) => buildRpm({ name, version: `${number}.0`, release: '1', arch: 'x86_64' }),
    async index() {
      const repomd = await text(`${service.rpm}/repos/almalinux9/x86_64/repodata/repomd.xml`)
      const href = /repodata\/[^"]*primary\.xml\.gz/.exec(repomd)?.[0]
      return gunzipSync(
        Buffer.from(await (await fetch(`${service.rpm}/repos/almalinux9/x86_64/${href}`)).arrayBuffer()),
      ).toString()
    },
  },
  apk: {
    codename: 'alpine3.21',
    ecosystem: 'Alpine:v3.21',
    version: (number) => `${number}.0-r1`,
    build: (name, number) => buildApk({ name, version: `${number}.0-r1` }),
    async index() {
      const bytes = Buffer.from(
        await (await fetch(`${service.apt}/apk/alpine3.21/main/x86_64/APKINDEX.tar.gz`)).arrayBuffer(),
      )
      return gunzipSync(bytes).toString('latin1')
    },
  },
}
const FORMATS = Object.keys(KINDS) as FormatId[]

const upload = async (format: FormatId, name: string, number: number) =>
  service.upload(await KINDS[format].build(name, number), `anything.${format}`, {
    distribution: KINDS[format].codename,
  })

/** All files below the directories that are served for the format. */
async function servedFiles(format: FormatId): Promise<string[]> {
  const trees = [join('.generations', format), { deb: 'dists', rpm: 'rpm', apk: 'apk' }[format]]
  return (await Promise.all(trees.map((tree) => readdir(join(service.reposDir, tree), { recursive: true })))).flat()
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gate-cve-'))
  const advisories = FORMATS.flatMap((format) => {
    const { ecosystem, version } = KINDS[format]
    const about = (name: string, cve: string, severity?: 'critical' | 'high' | 'medium' | 'low') => ({
      id: `SA-${format}-${name}-${cve}`,
      ecosystem,
      package: name,
      fixed: version(2),
      cve,
      ...(severity ? { severity } : {}),
    })
    return [
      about('critical', 'CVE-2026-1001', 'critical'),
      about('high', 'CVE-2026-1002', 'high'),
      about('medium', 'CVE-2026-1003', 'medium'),
      about('low', 'CVE-2026-1004', 'low'),
      about('unrated', 'CVE-2026-1005'),
      about('mixed', 'CVE-2026-1006', 'low'),
      about('mixed', 'CVE-2026-1007', 'high'),
    ]
  })
  await writeAdvisories(directory, advisories)
  service = await startService({ env: { SVC_OSV_DIR: directory, REPO_FORMAT: 'all' } })
  await imported()
})
afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

const imported = () => readAdvisories(service)

describe.each(FORMATS)('%s', (format) => {
  const { codename, version, index } = KINDS[format]

  it.each([
    ['critical', 'quarantined', 'blocked'],
    ['high', 'pending_review', 'review'],
    ['mixed', 'pending_review', 'review'],
    ['medium', 'published', 'warning'],
    ['low', 'published', 'allowed'],
    ['unrated', 'published', 'allowed'],
    ['unheard-of', 'published', 'no_findings'],
  ])('the package %s is %s', async (name, status, result) => {
    const { body } = await upload(format, name, 1)
    expect(body).toMatchObject({
      status,
      pipeline: { cve_scan: result },
      coverage: { cve_scan: { engine: 'osv', distro_matched: KINDS[format].ecosystem } },
    })
    const served = (await servedFiles(format)).some((path) => path.includes(`${name}_1`) || path.includes(`${name}-1`))
    expect(served).toBe(status === 'published')
    expect((await index()).includes(name)).toBe(status === 'published')
  })

  it('the version with the fix is published', async () => {
    const { body } = await upload(format, 'critical', 2)
    expect(body).toMatchObject({ status: 'published', pipeline: { cve_scan: 'no_findings' } })
  })

  it('a held package is listed with its findings, and an approval publishes it', async () => {
    const queue = await service.call('GET', `/security/review-queue?distribution=${codename}&sort=since`)
    const since = queue.body.items.map((one: { review_since: string }) => one.review_since)
    expect(since).toEqual([...since].sort())
    const item = queue.body.items.find((one: { name: string }) => one.name === 'mixed')
    expect(item).toMatchObject({ cve_counts: { high: 1, low: 1 }, held_reason: 'cve_review' })
    const decided = await service.call('POST', `/security/packages/mixed/${encodeURIComponent(version(1))}/decide`, {
      decision: 'approve',
      justification: 'no path to it here',
      distribution: codename,
    })
    expect(decided.body).toMatchObject({ status: 'ok', new_status: 'published' })
    expect(await index()).toContain('mixed')
    const { body } = await service.call('GET', '/artifacts/mixed')
    const record = body.versions.find((one: { distribution: string }) => one.distribution === codename)
    expect(record.cve_results.find((finding: { id: string }) => finding.id === 'CVE-2026-1007')).toMatchObject({
      accepted_by_decision: true,
      fix_versions: [version(2)],
    })
    const audit = await service.call('GET', '/artifacts/audit/logs?action=SECURITY_DECISION&package=mixed')
    expect(audit.body.items[0]).toMatchObject({ user: 'admin', package: 'mixed', distribution: codename })
  })

  it('a rescan neither publishes a held package nor returns an approved one to review', async () => {
    const waiting = await service.call('POST', `/security/packages/high/${encodeURIComponent(version(1))}/rescan`, {
      distribution: codename,
    })
    expect(waiting.body).toMatchObject({
      cve_scan: 'review',
      previous_status: 'pending_review',
      new_status: 'pending_review',
    })
    const decided = await service.call('POST', `/security/packages/mixed/${encodeURIComponent(version(1))}/rescan`, {
      distribution: codename,
    })
    expect(decided.body).toMatchObject({ new_status: 'published', new_cve_ids: [], dropped_cve_ids: [] })
    expect(await index()).not.toContain('Package: high')
  })

  it('a new advisory sends a published package to review, still served; a withdrawn one removes its finding', async () => {
    const { ecosystem } = KINDS[format]
    await writeAdvisories(directory, [
      {
        id: `SA-${format}-new`,
        ecosystem,
        package: 'unheard-of',
        fixed: null,
        cve: 'CVE-2026-2001',
        severity: 'critical',
      },
      { id: `SA-${format}-new-low`, ecosystem, package: 'low', fixed: null, cve: 'CVE-2026-2002', severity: 'low' },
    ])
    await rm(join(directory, `SA-${format}-medium-CVE-2026-1003.json`))
    await imported()
    const record = async (name: string) =>
      (await service.call('GET', `/artifacts/${name}`)).body.versions.find(
        (one: { distribution: string; version: string }) => one.distribution === codename && one.version === version(1),
      )
    expect(await record('unheard-of')).toMatchObject({ status: 'pending_review', served: true, held_reason: 'rematch' })
    expect(await index()).toContain('unheard-of')
    expect(await record('low')).toMatchObject({ status: 'published', cve_summary: { low: 2 } })
    expect(await record('medium')).toMatchObject({ status: 'published', cve_summary: { medium: 0 } })
    expect(await record('mixed')).toMatchObject({ status: 'published' })
  })

  it('a rejection unpublishes the package and refuses its bytes from then on', async () => {
    const { body } = await service.call(
      'POST',
      `/security/packages/unheard-of/${encodeURIComponent(version(1))}/decide`,
      { decision: 'reject', justification: 'cannot be mended', distribution: codename },
    )
    expect(body.new_status).toBe('rejected')
    expect(await index()).not.toContain('unheard-of')
    const again = await upload(format, 'unheard-of', 1)
    expect(again.status).toBe(200)
    expect(again.body).toMatchObject({ status: 'rejected', duplicate: true })
  })
})

it('updateinfo for dnf and zypper lists the fixing packages, some time after the last publish', async () => {
  const repository = `${service.rpm}/repos/almalinux9/x86_64`
  await expect
    .poll(async () => text(`${repository}/repodata/repomd.xml`), { interval: 1000 })
    .toContain('-updateinfo.xml.gz')
  const href = /repodata\/[0-9a-f]+-updateinfo\.xml\.gz/.exec(await text(`${repository}/repodata/repomd.xml`))![0]
  const updateinfo = gunzipSync(Buffer.from(await (await fetch(`${repository}/${href}`)).arrayBuffer())).toString()
  expect(updateinfo).toContain('<id>SA-rpm-critical-CVE-2026-1001</id>')
  expect(updateinfo).toContain('<filename>critical-2.0-1.x86_64.rpm</filename>')
  expect(updateinfo).not.toContain('SA-rpm-high-')
})

it('a changed policy applies to the next upload', async () => {
  await service.call('PATCH', '/security/policy', { medium: 'block', unknown: 'review' })
  await writeAdvisories(directory, [
    { id: 'SA-later', ecosystem: 'Ubuntu:22.04:LTS', package: 'later', fixed: null, severity: 'medium' },
    { id: 'SA-dim', ecosystem: 'Ubuntu:22.04:LTS', package: 'dim', fixed: null },
  ])
  await imported()
  const before = await samples()
  expect((await upload('deb', 'later', 1)).body.status).toBe('quarantined')
  expect((await upload('deb', 'dim', 1)).body).toMatchObject({ status: 'pending_review', held_reason: 'cve_review' })
  const after = await samples()
  expect(after.map((value, n) => value - before[n]!)).toEqual(COUNTED.map(() => 1))
})

/** Each counter counts one of the two packages. */
const COUNTED = [
  ...['svc_cve_findings_total{severity="medium"}', 'svc_cve_findings_total{severity="unknown"}'],
  ...['svc_uploads_total{status="quarantined"}', 'svc_uploads_total{status="pending_review"}'],
  ...['svc_quarantine_total', 'svc_pending_review_total', 'svc_packages_total'],
]

async function samples(): Promise<number[]> {
  const lines = (await (await fetch(`${service.api}/metrics`)).text()).split('\n')
  return COUNTED.map((name) => Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length)))
}

it('a package that is scanned before advisories about it come into force, and stored after, is matched with them', async () => {
  // Signing it takes longer than reading the advisories.
  const files = [{ path: '/usr/share/raced', content: randomBytes(160 * 1024 * 1024) }]
  const rpm = await buildRpm({ name: 'raced', version: '1.0', release: '1', arch: 'x86_64', files })
  const about = { id: 'SA-raced', ecosystem: 'AlmaLinux:9', package: 'raced', fixed: null, cve: 'CVE-2026-2003' }
  await writeAdvisories(directory, [{ ...about, severity: 'critical' }])
  const body = new FormData()
  body.set('file', new Blob([new Uint8Array(rpm)]), 'raced.rpm')
  body.set('distribution', 'almalinux9')
  const { body: events } = await fetch(`${service.api}/api/v1/upload/stream`, {
    ...{ method: 'POST', body },
    headers: { authorization: `Bearer ${service.token}` },
  })
  let said = ''
  let updated: Promise<void> | null = null
  for await (const piece of events!) {
    said += Buffer.from(piece).toString()
    if (said.includes('no known vulnerabilities')) updated ??= imported()
  }
  expect(said).toContain('published: the new index is live')
  await updated
  await vi.waitFor(
    async () => {
      const { body: record } = await service.call('GET', '/security/packages/raced/1.0-1/evidence')
      expect(record).toMatchObject({ status: 'pending_review', served: true, findings: [{ id: 'CVE-2026-2003' }] })
    },
    { timeout: 30_000, interval: 200 },
  )
})

it('status, metrics and health show the state and age of the advisory data', async () => {
  const { body } = await service.call('GET', '/security/vulnscan/status')
  expect(body).toMatchObject({
    available: true,
    engine: 'osv',
    db_files: ['directory'],
    feeds: [{ name: 'directory', error: null }],
  })
  const metrics = await (await fetch(`${service.api}/metrics`)).text()
  expect(Number(/^svc_grype_db_age_seconds (\d+)/m.exec(metrics)?.[1])).toBeLessThan(600)
  const health = (await (await fetch(`${service.api}/health`)).json()) as {
    checks: { info: { vulnscan: unknown }; non_critical: { scheduler: { jobs: { id: string }[] } } }
  }
  expect(health.checks.info.vulnscan).toMatchObject({ ok: true })
  expect(health.checks.non_critical.scheduler.jobs.map((job) => job.id)).toEqual(
    expect.arrayContaining(['cve_rematch', 'sla_check_daily']),
  )
})

it('when an update finds no advisories, the last good ones stay in use', async () => {
  for (const name of await readdir(directory)) await rm(join(directory, name))
  const { body } = await service.call('POST', '/security/vulnscan/update')
  expect(body.status).toBe('failed')
  expect((await upload('apk', 'critical', 1)).status).toBe(409)
  expect((await upload('deb', 'later', 3)).body.status).toBe('quarantined')
})
