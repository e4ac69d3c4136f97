// The gate with the real grype as first scanner and the embedded matcher as second: findings of the first hold a package,
// findings of only the second send it to review while it stays served, and a failing grype never passes a package.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FormatId } from '../formats.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { buildRpm, string } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { grypeTools, importDatabase, makeDatabase, type GrypeAdvisory, type GrypeTools } from './grype-database.ts'

interface Kind {
  codename: string
  /** the distribution as grype names it */
  distro: string
  ecosystem: string
  /** the distribution's row in grype's database */
  os: Pick<GrypeAdvisory, 'provider' | 'os' | 'release' | 'major' | 'minor' | 'type'>
  version(number: number): string
  build(name: string, number: number, source?: string): Promise<Buffer> | Buffer
  /** a distribution of the same format without data in the database */
  unknown: string
  index(): Promise<string>
}

const text = async (url: string) => (await fetch(url)).text()
const KINDS: Record<FormatId, Kind> = {
  deb: {
    codename: 'jammy',
    distro: 'ubuntu:22.04',
    ecosystem: 'Ubuntu:22.04:LTS',
    os: { provider: 'ubuntu', os: 'ubuntu', release: 'ubuntu', major: '22', minor: '04', type: 'deb' },
    version: (number) => `${number}.0-1`,
    build: (name, number, source) =>
      buildDeb({ name, version: `${number}.0-1`, ...(source ? { fields: { Source: source } } : {}) }),
    unknown: 'noble',
    index: () => text(`${service.apt}/repos/dists/jammy/main/binary-amd64/Packages`),
  },
  rpm: {
    codename: 'rocky9',
    distro: 'rockylinux:9',
    ecosystem: 'Rocky Linux:9',
    // The clones are matched with Red Hat's data.
    os: { provider: 'rhel', os: 'redhat', release: 'rhel', major: '9', type: 'rpm' },
    version: (number) => `${number}.0-1`,
    build: (name, number, source) =>
      buildRpm({
        name,
        version: `${number}.0`,
        release: '1',
        arch: 'x86_64',
        ...(source ? { tags: { 1044: string(`${source}-${number}.0-1.src.rpm`) } } : {}),
      }),
    unknown: 'fedora',
    index: async () => JSON.stringify((await service.call('GET', '/artifacts?distribution=rocky9&limit=200')).body),
  },
  apk: {
    codename: 'alpine3.21',
    distro: 'alpine:3.21',
    ecosystem: 'Alpine:v3.21',
    os: { provider: 'alpine', os: 'alpine', release: 'alpine', major: '3', minor: '21', type: 'apk' },
    version: (number) => `${number}.0-r1`,
    build: (name, number, source) =>
      buildApk({ name, version: `${number}.0-r1`, ...(source ? { info: { origin: source } } : {}) }),
    unknown: '',
    index: async () => JSON.stringify((await service.call('GET', '/artifacts?distribution=alpine3.21&limit=200')).body),
  },
}
const FORMATS = Object.keys(KINDS) as FormatId[]

let tools: GrypeTools
let base: string
let service: Service
let mirror: Server
/** the files of the database mirror, by path */
const mirrored = new Map<string, Buffer>()

const advisoryFor = (
  format: FormatId,
  name: string,
  cve: string,
  severity: GrypeAdvisory['severity'],
  more: Partial<GrypeAdvisory> = {},
): GrypeAdvisory => ({
  ...KINDS[format].os,
  id: cve,
  package: name,
  versions: `< ${KINDS[format].version(2)}`,
  fix: KINDS[format].version(2),
  fix_state: 'fixed',
  ...(severity ? { severity } : {}),
  urls: [`https://example.org/${cve}`],
  text: `a vulnerability in ${name}`,
  ...more,
})

const advisories = (): GrypeAdvisory[] =>
  FORMATS.flatMap((format) => [
    advisoryFor(format, 'critical', 'CVE-2026-3001', 'critical'),
    advisoryFor(format, 'high', 'CVE-2026-3002', 'high'),
    advisoryFor(format, 'medium', 'CVE-2026-3003', 'medium'),
    advisoryFor(format, 'forsaken', 'CVE-2026-3004', 'low', { fix: '', fix_state: 'wont-fix' }),
    advisoryFor(format, 'the-source', 'CVE-2026-3005', 'high'),
    advisoryFor(format, 'both', 'CVE-2026-3006', 'medium'),
    // The vulnerability that the self-test expects grype to find.
    advisoryFor(format, 'canary', 'CVE-2026-3007', 'high'),
  ])

const cacheDirectory = () => join(base, 'repos', 'grype-db')
const environment = () => ({
  SVC_OSV_DIR: join(base, 'osv'),
  REPO_FORMAT: 'all',
  GRYPE_BIN: tools.grype,
  GRYPE_DB_UPDATE_URL: `http://127.0.0.1:${(mirror.address() as AddressInfo).port}/databases`,
})
const start = () =>
  startService({ reposDir: join(base, 'repos'), databaseUrl: `pglite://${join(base, 'db')}`, env: environment() })

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'gate-grype-'))
  tools = await grypeTools()
  mirror = createServer((request, response) => {
    const found = mirrored.get(new URL(request.url!, 'http://mirror').pathname)
    response.writeHead(found ? 200 : 404).end(request.method === 'HEAD' ? undefined : found)
  })
  await new Promise<void>((resolve) => mirror.listen(0, '127.0.0.1', resolve))
  await importDatabase(
    tools,
    await makeDatabase(tools, join(base, 'made'), advisories(), { exploited: ['CVE-2026-3006'] }),
    cacheDirectory(),
  )
  await writeAdvisories(
    join(base, 'osv'),
    FORMATS.flatMap((format) => {
      const { ecosystem, version } = KINDS[format]
      const about = (name: string, cve: string, severity: 'critical' | 'high' | 'medium') => ({
        id: `SA-${format}-${cve}`,
        ecosystem,
        package: name,
        fixed: version(2),
        cve,
        severity,
      })
      return [
        about('quiet', 'CVE-2026-4001', 'critical'),
        about('lost', 'CVE-2026-4002', 'high'),
        about('warned', 'CVE-2026-4003', 'medium'),
        about('both', 'CVE-2026-3006', 'high'),
        about('canary', 'CVE-2026-3007', 'high'),
      ]
    }),
  )
  service = await start()
  await update()
  await service.call('PATCH', '/settings', { validation: { clamav_scan: false, on_unscanned: 'hold' } })
}, 1_800_000)
afterAll(async () => {
  await service?.stop()
  mirror?.close()
  await removeTemporary()
  await rm(base, { recursive: true, force: true })
})

/** Requests updates until the one from the start is over. */
async function update() {
  for (;;) {
    const { status, body } = await service.call('POST', '/security/vulnscan/update')
    if (status !== 409) return body
  }
}

const upload = async (
  format: FormatId,
  name: string,
  number: number,
  source?: string,
  distribution = KINDS[format].codename,
) => service.upload(await KINDS[format].build(name, number, source), `anything.${format}`, { distribution })

async function record(format: FormatId, name: string) {
  const { body } = await service.call('GET', `/artifacts/${name}`)
  return body.versions.find((one: { distribution: string }) => one.distribution === KINDS[format].codename)
}

const sourcesOf = async (format: FormatId, name: string) =>
  Object.fromEntries(
    ((await record(format, name)).cve_results ?? []).map((finding: { id: string; sources: string[] }) => [
      finding.id,
      finding.sources,
    ]),
  )

describe.each(FORMATS)('%s', (format) => {
  const kind = KINDS[format]

  it.each([
    ['critical', 'quarantined', 'blocked'],
    ['high', 'pending_review', 'review'],
    ['medium', 'published', 'warning'],
    ['forsaken', 'published', 'allowed'],
    ['unheard-of', 'published', 'no_findings'],
  ])('the package %s is %s', async (name, status, result) => {
    const { body } = await upload(format, name, 1)
    expect(body).toMatchObject({
      status,
      pipeline: { cve_scan: result },
      coverage: {
        cve_scan: { engine: 'grype', engine_version: '0.110.0', distro_matched: kind.distro, files_seen: 1 },
      },
    })
    expect(Date.parse(body.coverage.cve_scan.database_date)).toBeGreaterThan(Date.now() - 3_600_000)
  })

  it('the version with the fix is published', async () => {
    expect((await upload(format, 'critical', 2)).body).toMatchObject({
      status: 'published',
      pipeline: { cve_scan: 'no_findings' },
    })
  })

  it('a vulnerability of the source package applies to its binary packages', async () => {
    expect((await upload(format, 'part-of-it', 1, 'the-source')).body).toMatchObject({
      status: 'pending_review',
      pipeline: { cve_scan: 'review' },
    })
    expect((await record(format, 'part-of-it')).cve_results).toMatchObject([
      {
        id: 'CVE-2026-3005',
        severity: 'High',
        package_name: 'part-of-it',
        fix_state: 'fixed',
        fix_versions: [kind.version(2)],
        sources: ['grype'],
      },
    ])
  })

  it('a finding carries the details of the vulnerability', async () => {
    expect((await record(format, 'forsaken')).cve_results).toMatchObject([
      {
        id: 'CVE-2026-3004',
        severity: 'Low',
        fix_state: 'wont-fix',
        fix_versions: [],
        description: 'a vulnerability in forsaken',
        urls: expect.arrayContaining(['https://example.org/CVE-2026-3004']),
      },
    ])
  })

  it.skipIf(kind.unknown === '')('a package of a distribution without data is held', async () => {
    expect((await upload(format, 'critical', 1, undefined, kind.unknown)).body).toMatchObject({
      status: 'pending_review',
      held_reason: 'unscanned',
      pipeline: { cve_scan: 'no_data' },
      coverage: { cve_scan: { engine: 'grype', distro_matched: null } },
    })
  })

  it('a finding of only the second scanner sends the package to review while it stays served', async () => {
    expect((await upload(format, 'quiet', 1)).body).toMatchObject({
      status: 'published',
      pipeline: { cve_scan: 'no_findings' },
    })
    await expect.poll(async () => (await record(format, 'quiet')).status).toBe('pending_review')
    expect(await record(format, 'quiet')).toMatchObject({ served: true, held_reason: 'second_scanner' })
    expect(await sourcesOf(format, 'quiet')).toEqual({ 'CVE-2026-4001': ['osv'] })
    expect(await kind.index()).toContain('quiet')
    const queue = await service.call('GET', `/security/review-queue?distribution=${kind.codename}`)
    expect(queue.body.items.find((one: { name: string }) => one.name === 'quiet')).toMatchObject({
      origin: 'second_scanner',
      held_reason: 'second_scanner',
    })
  })

  it('a finding of only the second scanner that the policy allows changes only the list of findings', async () => {
    expect((await upload(format, 'warned', 1)).body.status).toBe('published')
    await expect.poll(() => sourcesOf(format, 'warned')).toEqual({ 'CVE-2026-4003': ['osv'] })
    expect((await record(format, 'warned')).status).toBe('published')
  })

  it('a vulnerability that both scanners find is one finding with the severity of the first', async () => {
    expect((await upload(format, 'both', 1)).body.status).toBe('published')
    await expect.poll(() => sourcesOf(format, 'both')).toEqual({ 'CVE-2026-3006': ['grype', 'osv'] })
    expect(await record(format, 'both')).toMatchObject({
      status: 'published',
      cve_results: [{ severity: 'Medium', in_kev: true }],
    })
  })

  it('an approval covers the findings of both scanners: a rescan does not return the package to review', async () => {
    const path = `/security/packages/quiet/${encodeURIComponent(kind.version(1))}`
    const decided = await service.call('POST', `${path}/decide`, {
      decision: 'approve',
      justification: 'no path to it here',
      distribution: kind.codename,
    })
    expect(decided.body).toMatchObject({ new_status: 'published' })
    const again = await service.call('POST', `${path}/rescan`, { distribution: kind.codename })
    expect(again.body).toMatchObject({
      cve_scan: 'no_findings',
      new_status: 'published',
      new_cve_ids: [],
      dropped_cve_ids: [],
      coverage: { engine: 'grype' },
    })
    expect(await sourcesOf(format, 'quiet')).toEqual({ 'CVE-2026-4001': ['osv'] })
  })
})

it('a service that dies before the second scan makes it after its restart', async () => {
  expect((await upload('deb', 'lost', 1)).body.status).toBe('published')
  await service.kill()
  service = await start()
  await expect.poll(async () => (await record('deb', 'lost')).held_reason).toBe('second_scanner')
  expect(await record('deb', 'lost')).toMatchObject({ status: 'pending_review', served: true })
})

it('the status and metrics show the version and age of the database', async () => {
  const { body } = await service.call('GET', '/security/vulnscan/status')
  expect(body).toMatchObject({ available: true, engine: 'grype', version: '0.110.0', error: null })
  const metrics = await text(`${service.api}/metrics`)
  expect(Number(/^svc_grype_db_age_seconds (\d+)/m.exec(metrics)?.[1])).toBeLessThan(7200)
  expect(metrics).not.toMatch(/^svc_scanner_selftest_failed\{[^}]*\} 1/m)
})

it('a failed update keeps the database', async () => {
  expect(await update()).toMatchObject({ status: 'failed', message: expect.stringContaining('grype') })
  expect((await upload('deb', 'high', 0)).body).toMatchObject({
    status: 'pending_review',
    pipeline: { cve_scan: 'review' },
  })
})

/** Serves a database like grype's own server: an archive, and a document with its path and digest. */
async function offer(advisories: readonly GrypeAdvisory[], name: string, checksum?: string): Promise<void> {
  const built = new Date(Math.floor(Date.now() / 1000) * 1000)
  await makeDatabase(tools, join(base, name), advisories, { built })
  execFileSync('tar', ['czf', join(base, `${name}.tar.gz`), '-C', join(base, name), 'vulnerability.db'])
  const archive = await readFile(join(base, `${name}.tar.gz`))
  const digest = checksum ?? createHash('sha256').update(archive).digest('hex')
  mirrored.set(`/databases/v6/${name}.tar.gz`, archive)
  mirrored.set(
    '/databases/v6/latest.json',
    Buffer.from(
      JSON.stringify({
        status: 'active',
        schemaVersion: 'v6.1.4',
        built: built.toISOString().replace('.000', ''),
        path: `${name}.tar.gz`,
        checksum: `sha256:${digest}`,
      }),
    ),
  )
}

it('a database with a wrong digest is not used', async () => {
  await offer([], 'forged', '0'.repeat(64))
  expect(await update()).toMatchObject({ status: 'failed' })
  expect((await upload('apk', 'high', 0)).body).toMatchObject({
    status: 'pending_review',
    pipeline: { cve_scan: 'review' },
  })
})

it('a newer database is downloaded and used for the next upload', async () => {
  await offer([...advisories(), advisoryFor('deb', 'newly', 'CVE-2026-5001', 'critical')], 'newer')
  expect(await update()).toMatchObject({ status: 'updated' })
  expect((await upload('deb', 'newly', 1)).body).toMatchObject({
    status: 'quarantined',
    pipeline: { cve_scan: 'blocked' },
  })
})

it('an old database is used and its date is shown', async () => {
  const built = new Date(Date.now() - 40 * 86_400_000)
  await importDatabase(
    tools,
    await makeDatabase(tools, join(base, 'made-old'), advisories(), { built }),
    cacheDirectory(),
  )
  const { body } = await upload('deb', 'old-data', 1)
  expect(body).toMatchObject({ status: 'published', pipeline: { cve_scan: 'no_findings' } })
  expect(Math.abs(Date.parse(body.coverage.cve_scan.database_date) - built.getTime())).toBeLessThan(2000)
})

it('without a database every package is held', async () => {
  await rm(join(cacheDirectory(), '6'), { recursive: true })
  expect((await upload('rpm', 'no-database', 1)).body).toMatchObject({
    status: 'pending_review',
    held_reason: 'unscanned',
    pipeline: { cve_scan: 'error' },
  })
  const rescan = await service.call('POST', `/security/packages/no-database/1.0-1/rescan`, {})
  expect(rescan.status).toBe(503)
})

it('with an unreadable database every package is held', async () => {
  const database = await makeDatabase(tools, join(base, 'made-again'), advisories())
  await importDatabase(tools, database, cacheDirectory())
  await writeFile(join(cacheDirectory(), '6', 'vulnerability.db'), 'this is no database')
  expect((await upload('apk', 'cut-database', 1)).body).toMatchObject({
    status: 'pending_review',
    held_reason: 'unscanned',
    pipeline: { cve_scan: 'error' },
  })
})

it('a grype that misses the known vulnerability fails its self-test, and packages it passes are held', async () => {
  const harmless = FORMATS.map((format) => advisoryFor(format, 'nobody-has-it', 'CVE-2026-9999', 'low'))
  await importDatabase(tools, await makeDatabase(tools, join(base, 'made-harmless'), harmless), cacheDirectory())
  await service.stop()
  service = await start()
  await expect.poll(() => text(`${service.api}/metrics`)).toMatch(/^svc_scanner_selftest_failed\{[^}]*grype[^}]*\} 1/m)
  expect((await upload('deb', 'looks-clean', 1)).body).toMatchObject({
    status: 'pending_review',
    held_reason: 'unscanned',
    pipeline: { cve_scan: 'error' },
  })
})
