// The gate with the real trivy as first scanner and the embedded matcher as second: vulnerable versions are held, fixed
// versions are published, and a failing trivy never passes a package.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FormatId } from '../formats.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { buildRpm } from '../samples/rpm.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { makeDatabase, trivyTools, type TrivyAdvisory, type TrivyTools } from './trivy-database.ts'

interface Kind {
  codename: string
  /** the distribution as trivy names it */
  distro: string
  family: string
  ecosystem: string
  version(number: number): string
  build(name: string, number: number): Promise<Buffer> | Buffer
  /** a distribution of the same format without data in the database */
  unknown: string
}

const KINDS: Record<FormatId, Kind> = {
  deb: {
    codename: 'jammy',
    distro: 'ubuntu/22.04',
    family: 'ubuntu',
    ecosystem: 'Ubuntu:22.04:LTS',
    version: (number) => `${number}.0-1`,
    build: (name, number) => buildDeb({ name, version: `${number}.0-1` }),
    unknown: 'noble',
  },
  rpm: {
    codename: 'rocky9',
    distro: 'rocky/9',
    family: 'rocky',
    ecosystem: 'Rocky Linux:9',
    version: (number) => `${number}.0-1`,
    build: (name, number) => buildRpm({ name, version: `${number}.0`, release: '1', arch: 'x86_64' }),
    unknown: 'fedora',
  },
  apk: {
    codename: 'alpine3.21',
    distro: 'alpine/3.21',
    family: 'alpine',
    ecosystem: 'Alpine:v3.21',
    version: (number) => `${number}.0-r1`,
    build: (name, number) => buildApk({ name, version: `${number}.0-r1` }),
    unknown: 'alpine3.20',
  },
}
const FORMATS = Object.keys(KINDS) as FormatId[]

let tools: TrivyTools
let base: string
let service: Service

const advisoryFor = (
  format: FormatId,
  name: string,
  cve: string,
  severity: TrivyAdvisory['severity'],
): TrivyAdvisory => {
  const { family, distro, version } = KINDS[format]
  return {
    id: cve,
    family,
    release: distro.split('/')[1]!,
    package: name,
    fixed: version(2),
    severity: severity!,
    arches: ['x86_64'],
    urls: [`https://example.org/${cve}`],
    title: `a vulnerability in ${name}`,
  }
}
const advisories = () =>
  FORMATS.flatMap((format) => [
    advisoryFor(format, 'critical', 'CVE-2026-3001', 'CRITICAL'),
    advisoryFor(format, 'high', 'CVE-2026-3002', 'HIGH'),
    advisoryFor(format, 'medium', 'CVE-2026-3003', 'MEDIUM'),
    advisoryFor(format, 'low', 'CVE-2026-3004', 'LOW'),
    advisoryFor(format, 'both', 'CVE-2026-3006', 'MEDIUM'),
    // The vulnerability that the self-test expects trivy to find.
    advisoryFor(format, 'canary', 'CVE-2026-3007', 'HIGH'),
  ])

const database = () => join(base, 'repos', 'grype-db', 'trivy', 'db')
// Names a proxy that does not exist, because a test must not download a real database.
const environment = () => ({
  SVC_OSV_DIR: join(base, 'osv'),
  REPO_FORMAT: 'all',
  SVC_CVE_SCANNERS: 'trivy,osv',
  TRIVY_BIN: tools.trivy,
  HTTPS_PROXY: 'http://127.0.0.1:9',
})
const start = () =>
  startService({ reposDir: join(base, 'repos'), databaseUrl: `pglite://${join(base, 'db')}`, env: environment() })

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'gate-trivy-'))
  tools = await trivyTools()
  await makeDatabase(tools, database(), advisories())
  await writeAdvisories(
    join(base, 'osv'),
    FORMATS.flatMap((format) => {
      const { ecosystem, version } = KINDS[format]
      const about = (name: string, cve: string, severity: 'critical' | 'high') => ({
        id: `SA-${format}-${cve}`,
        ecosystem,
        package: name,
        fixed: version(2),
        cve,
        severity,
      })
      return [
        about('quiet', 'CVE-2026-4001', 'critical'),
        about('both', 'CVE-2026-3006', 'high'),
        about('canary', 'CVE-2026-3007', 'high'),
      ]
    }),
  )
  service = await start()
  await update()
  await service.call('PATCH', '/settings', { validation: { clamav_scan: false, on_unscanned: 'hold' } })
}, 3_600_000)
afterAll(async () => {
  await service?.stop()
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

const upload = async (format: FormatId, name: string, number: number, distribution = KINDS[format].codename) =>
  (await service.upload(await KINDS[format].build(name, number), `anything.${format}`, { distribution })).body

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

const metrics = async () => (await fetch(`${service.api}/metrics`)).text()

describe.each(FORMATS)('%s', (format) => {
  const kind = KINDS[format]

  it.each([
    ['critical', 'quarantined', 'blocked'],
    ['high', 'pending_review', 'review'],
    ['medium', 'published', 'warning'],
    ['low', 'published', 'allowed'],
    ['unheard-of', 'published', 'no_findings'],
  ])('the package %s is %s', async (name, status, result) => {
    const body = await upload(format, name, 1)
    expect(body).toMatchObject({
      status,
      pipeline: { cve_scan: result },
      coverage: { cve_scan: { engine: 'trivy', engine_version: '0.68.2', distro_matched: kind.distro, files_seen: 1 } },
    })
    expect(Date.parse(body.coverage.cve_scan.database_date)).toBeGreaterThan(Date.now() - 3_600_000)
  })

  it.each(['critical', 'high'])('the version with the fix of a %s vulnerability is published', async (name) => {
    expect(await upload(format, name, 2)).toMatchObject({ status: 'published', pipeline: { cve_scan: 'no_findings' } })
  })

  it('a finding carries the details of the vulnerability', async () => {
    expect((await record(format, 'low')).cve_results).toMatchObject([
      {
        id: 'CVE-2026-3004',
        severity: 'Low',
        fix_state: 'fixed',
        fix_versions: [kind.version(2)],
        description: 'a vulnerability in low',
        urls: expect.arrayContaining(['https://example.org/CVE-2026-3004']),
        sources: ['trivy'],
      },
    ])
  })

  it('a package of a distribution without data is held as unscanned', async () => {
    expect(await upload(format, 'critical', 1, kind.unknown)).toMatchObject({
      status: 'pending_review',
      held_reason: 'unscanned',
      pipeline: { cve_scan: 'no_data' },
      coverage: { cve_scan: { engine: 'trivy', distro_matched: null } },
    })
  })

  it('a finding of only the second scanner sends the package to review', async () => {
    expect(await upload(format, 'quiet', 1)).toMatchObject({
      status: 'published',
      pipeline: { cve_scan: 'no_findings' },
    })
    await expect.poll(async () => (await record(format, 'quiet')).held_reason).toBe('second_scanner')
    expect(await sourcesOf(format, 'quiet')).toEqual({ 'CVE-2026-4001': ['osv'] })
  })

  it('a vulnerability that both scanners find is one finding with the severity of the first', async () => {
    expect((await upload(format, 'both', 1)).status).toBe('published')
    await expect.poll(() => sourcesOf(format, 'both')).toEqual({ 'CVE-2026-3006': ['osv', 'trivy'] })
    expect(await record(format, 'both')).toMatchObject({ status: 'published', cve_results: [{ severity: 'Medium' }] })
  })
})

it('the status shows the version and date of the database', async () => {
  const { body } = await service.call('GET', '/security/vulnscan/status')
  expect(body).toMatchObject({
    available: true,
    engine: 'trivy',
    version: '0.68.2',
    db_version: '2',
    db_files: ['trivy.db'],
    error: null,
  })
  expect(Date.parse(body.db_date)).toBeGreaterThan(Date.now() - 3_600_000)
  expect(await metrics()).not.toMatch(/^svc_scanner_selftest_failed\{[^}]*\} 1/m)
})

it('an old database is used and its date is shown; a failed update keeps it', async () => {
  const updated = new Date(Date.now() - 40 * 86_400_000)
  await makeDatabase(tools, database(), advisories(), updated)
  expect(await update()).toMatchObject({ status: 'failed', message: expect.stringContaining('trivy') })
  const body = await upload('deb', 'old-data', 1)
  expect(body).toMatchObject({ status: 'published', pipeline: { cve_scan: 'no_findings' } })
  expect(Math.abs(Date.parse(body.coverage.cve_scan.database_date) - updated.getTime())).toBeLessThan(2000)
})

it('without a database every package is held', async () => {
  await rm(database(), { recursive: true })
  expect(await upload('rpm', 'no-database', 1)).toMatchObject({
    status: 'pending_review',
    held_reason: 'unscanned',
    pipeline: { cve_scan: 'error' },
  })
  expect((await service.call('POST', `/security/packages/no-database/1.0-1/rescan`, {})).status).toBe(503)
})

it.each<[string, FormatId, (whole: Buffer) => Buffer | string]>([
  ['contains text', 'apk', () => 'this is no database'],
  ['is truncated', 'deb', (whole) => whole.subarray(0, 20_000)],
])('with a database that %s every package is held', async (_, format, spoil) => {
  await makeDatabase(tools, database(), advisories())
  await writeFile(join(database(), 'trivy.db'), spoil(await readFile(join(database(), 'trivy.db'))))
  for (const name of ['critical', 'unheard-of']) {
    expect(await upload(format, name, 3)).toMatchObject({
      status: 'pending_review',
      held_reason: 'unscanned',
      pipeline: { cve_scan: 'error' },
    })
  }
})

it('the status reports an unreadable database after a start', async () => {
  await writeFile(join(database(), 'trivy.db'), 'this is no database')
  await service.stop()
  service = await start()
  expect((await service.call('GET', '/security/vulnscan/status')).body).toMatchObject({
    available: false,
    engine: 'trivy',
    version: '0.68.2',
    db_date: null,
    error: 'the database of trivy cannot be read',
  })
})

it('a trivy that misses the known vulnerability fails its self-test, and packages it passes are held', async () => {
  await makeDatabase(
    tools,
    database(),
    FORMATS.map((format) => advisoryFor(format, 'nobody-has-it', 'CVE-2026-9999', 'LOW')),
  )
  await service.stop()
  service = await start()
  await expect.poll(metrics).toMatch(/^svc_scanner_selftest_failed\{[^}]*trivy[^}]*\} 1/m)
  expect(await upload('deb', 'looks-clean', 1)).toMatchObject({
    status: 'pending_review',
    held_reason: 'unscanned',
    pipeline: { cve_scan: 'error' },
  })
})
