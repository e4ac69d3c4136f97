// Components inside packages: read after publication and matched against their own advisories. A vulnerable one sends the
// package to review while it stays served. Files that cannot be read are reported.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FormatId } from '../formats.ts'
import { buildApk } from '../samples/apk.ts'
import { buildDeb } from '../samples/deb.ts'
import { writeAdvisories } from '../samples/osv.ts'
import { buildRpm } from '../samples/rpm.ts'
import { buildJar, buildZip } from '../samples/zip.ts'
import { removeTemporary, startService, type Service } from '../service.ts'
import { readAdvisories } from './read-advisories.ts'

const MIB = 1024 * 1024

let directory: string
let service: Service

type Files = Record<string, string | Uint8Array>

interface Kind {
  codename: string
  version: string
  build(name: string, files: Files): Promise<Buffer> | Buffer
  /** files of a component with this version */
  library(version: string): Files
  /** the ecosystem in its advisories */
  ecosystem: 'npm' | 'Maven' | 'PyPI'
  type: string
  name: string
  purl: string
}

const KINDS: Record<FormatId, Kind> = {
  deb: {
    codename: 'jammy',
    version: '1.0-1',
    build: (name, files) => buildDeb({ name, version: '1.0-1', files }),
    library: (version) => ({
      'opt/app/node_modules/@acme/left-pad/package.json': JSON.stringify({
        name: '@acme/left-pad',
        version,
        license: 'MIT',
      }),
      'opt/app/node_modules/@acme/left-pad/index.js': '1',
    }),
    ecosystem: 'npm',
    type: 'npm',
    name: '@acme/left-pad',
    purl: 'pkg:npm/%40acme/left-pad',
  },
  rpm: {
    codename: 'almalinux9',
    version: '1.0-1',
    build: (name, files) =>
      buildRpm({
        name,
        version: '1.0',
        release: '1',
        arch: 'x86_64',
        files: Object.entries(files).map(([path, content]) => ({ path: `/${path}`, content })),
      }),
    library: (version) => ({
      'opt/app/app.war': buildZip([
        { name: 'WEB-INF/lib/logger.jar', content: buildJar('org.example', 'logger', version), stored: true },
      ]),
    }),
    ecosystem: 'Maven',
    type: 'maven',
    name: 'org.example:logger',
    purl: 'pkg:maven/org.example/logger',
  },
  apk: {
    codename: 'alpine3.21',
    version: '1.0-r1',
    build: (name, files) => buildApk({ name, version: '1.0-r1', files }),
    library: (version) => ({
      'usr/lib/python3.12/site-packages/Acme_Http.dist-info/METADATA': `Metadata-Version: 2.1\nName: Acme_Http\nVersion: ${version}\nLicense: BSD\n\nName: another\n`,
    }),
    ecosystem: 'PyPI',
    type: 'pypi',
    name: 'Acme_Http',
    purl: 'pkg:pypi/acme-http',
  },
}
const FORMATS = Object.keys(KINDS) as FormatId[]

const upload = async (format: FormatId, name: string, files: Files) => {
  const { body } = await service.upload(await KINDS[format].build(name, files), `anything.${format}`, {
    distribution: KINDS[format].codename,
  })
  return body as Record<string, any>
}

/** The record after its component scan. */
async function scanned(name: string): Promise<Record<string, any>> {
  await expect.poll(async () => (await record(name))['coverage'].dependency_scan, { interval: 20 }).toBeTruthy()
  return record(name)
}

const imported = () => readAdvisories(service)

const served = async (format: FormatId, name: string) =>
  (await service.call('GET', '/packages/')).body.packages.some(
    (file: string) => file.startsWith(name) && file.endsWith(`.${format}`),
  )

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gate-components-'))
  await writeAdvisories(directory, [
    ...FORMATS.map((format) => ({
      id: `GHSA-${format}`,
      ecosystem: KINDS[format].ecosystem,
      package: KINDS[format].name,
      fixed: '2.0',
      cve: `CVE-2026-300${FORMATS.indexOf(format)}`,
      severity: 'critical' as const,
    })),
    // The package and its component each have a separate vulnerability, and share one.
    {
      id: 'USN-both',
      ecosystem: 'Ubuntu:22.04:LTS',
      package: 'both',
      fixed: null,
      cve: 'CVE-2026-3100',
      severity: 'low' as const,
    },
    {
      id: 'USN-shared',
      ecosystem: 'Ubuntu:22.04:LTS',
      package: 'both',
      fixed: null,
      cve: 'CVE-2026-3000',
      severity: 'low' as const,
    },
    {
      id: 'USN-1',
      ecosystem: 'Ubuntu:22.04:LTS',
      package: 'nothing',
      fixed: null,
      cve: 'CVE-2026-3999',
      severity: 'low' as const,
    },
    {
      id: 'AL-1',
      ecosystem: 'AlmaLinux:9',
      package: 'nothing',
      fixed: null,
      cve: 'CVE-2026-3999',
      severity: 'low' as const,
    },
    {
      id: 'ALP-1',
      ecosystem: 'Alpine:v3.21',
      package: 'nothing',
      fixed: null,
      cve: 'CVE-2026-3999',
      severity: 'low' as const,
    },
  ])
  service = await startService({ env: { SVC_OSV_DIR: directory, REPO_FORMAT: 'all' } })
  await imported()
})
afterAll(async () => {
  await service?.stop()
  await removeTemporary()
  await rm(directory, { recursive: true, force: true })
})

describe.each(FORMATS)('%s', (format) => {
  const { codename, version, library, type, name, purl, ecosystem } = KINDS[format]
  const [carrier, fixed] = [`carrier-${format}`, `fixed-${format}`]
  const cve = `CVE-2026-300${FORMATS.indexOf(format)}`

  it('a package with a critically vulnerable component is published, then sent to review and still served', async () => {
    expect(await upload(format, carrier, library('1.5'))).toMatchObject({
      status: 'published',
      pipeline: { cve_scan: 'no_findings' },
    })
    const record = await scanned(carrier)
    expect(record).toMatchObject({
      status: 'pending_review',
      served: true,
      held_reason: 'dependency_scan',
      cve_summary: { scanned: true, critical: 1 },
    })
    expect(record.cve_results).toMatchObject([
      {
        id: cve,
        package_name: name,
        package_version: '1.5',
        package_type: type,
        action: 'block',
        sources: ['osv-components'],
        fix_versions: ['2.0'],
      },
    ])
    expect(record.coverage.dependency_scan).toMatchObject({
      engine: 'osv-components',
      distro_matched: ecosystem,
      files_seen: 1,
      files_skipped: [],
    })
    expect(await served(format, carrier)).toBe(true)
    const { body } = await service.call('GET', '/security/review-queue')
    expect(body.items.find((one: { name: string }) => one.name === carrier)).toMatchObject({
      origin: 'dependency_scan',
      sla: { has_sla: true },
    })
  })

  it('its bill of materials lists the component with the vulnerability', async () => {
    const cyclonedx = await service.call(
      'GET',
      `/sbom/${carrier}/${encodeURIComponent(version)}?distribution=${codename}`,
    )
    const main = [cyclonedx.body.metadata.component, ...cyclonedx.body.components].find((one: any) => one?.components)
    expect(main.components).toMatchObject([{ purl: `${purl}@1.5` }])
    expect(cyclonedx.body.vulnerabilities).toMatchObject([
      { id: cve, affects: [{ ref: main.components[0]['bom-ref'] }] },
    ])
    const spdx = await service.call(
      'GET',
      `/sbom/${carrier}/${encodeURIComponent(version)}?format=spdx&distribution=${codename}`,
    )
    expect(JSON.stringify(spdx.body)).toContain(`${purl}@1.5`)
  })

  it('is decided once: neither a rescan nor a changed advisory reopens it, a new vulnerability does', async () => {
    const decided = await service.call('POST', `/security/packages/${carrier}/${encodeURIComponent(version)}/decide`, {
      decision: 'approve',
      justification: 'not reachable here',
      distribution: codename,
    })
    expect(decided.body).toMatchObject({ new_status: 'published' })
    const again = await service.call('POST', `/security/packages/${carrier}/${encodeURIComponent(version)}/rescan`, {
      distribution: codename,
    })
    expect(again.body).toMatchObject({ new_status: 'published', new_cve_ids: [], dropped_cve_ids: [], cve_count: 1 })
    await writeAdvisories(directory, [
      {
        id: `GHSA-${format}`,
        ecosystem,
        package: name,
        fixed: '2.1',
        cve,
        severity: 'critical',
        modified: '2026-02-01T00:00:00Z',
      },
    ])
    await imported()
    const record = await scanned(carrier)
    expect(record).toMatchObject({
      status: 'published',
      cve_results: [{ id: cve, fix_versions: ['2.1'], accepted_by_decision: true }],
    })
    await writeAdvisories(directory, [
      {
        id: `GHSA-${format}-2`,
        ecosystem,
        package: name,
        fixed: null,
        cve: `CVE-2026-320${FORMATS.indexOf(format)}`,
        severity: 'high',
      },
    ])
    await imported()
    expect(await scanned(carrier)).toMatchObject({ status: 'pending_review', served: true, held_reason: 'rematch' })
    await rm(join(directory, `GHSA-${format}-2.json`))
    await imported()
    expect((await scanned(carrier)).cve_results).toMatchObject([{ id: cve }])
  })

  it('a package with the fixed component stays published', async () => {
    expect(await upload(format, fixed, library('2.1'))).toMatchObject({ status: 'published' })
    expect(await scanned(fixed)).toMatchObject({ status: 'published', held_reason: null, cve_results: [] })
  })
})

const record = async (name: string) =>
  (await service.call('GET', `/artifacts/${name}`)).body.versions[0] as Record<string, any>
const ids = (one: Record<string, any>) => one['cve_results'].map((finding: { id: string }) => finding.id).sort()

describe('the package and its components are scanned separately', () => {
  it('neither scan removes findings of the other, and the worse severity counts for shared ones', async () => {
    expect(await upload('deb', 'both', KINDS.deb.library('1.5'))).toMatchObject({
      status: 'published',
      pipeline: { cve_scan: 'allowed' },
    })
    const first = await scanned('both')
    expect(first).toMatchObject({ status: 'pending_review', served: true })
    expect(ids(first)).toEqual(['CVE-2026-3000', 'CVE-2026-3100'])
    const shared = {
      id: 'CVE-2026-3000',
      severity: 'Critical',
      package_type: 'npm',
      sources: ['osv', 'osv-components'],
    }
    expect(first['cve_results']).toContainEqual(expect.objectContaining(shared))
    // A changed advisory of the distribution removes its own finding and keeps the component's.
    await rm(join(directory, 'USN-both.json'))
    await writeAdvisories(directory, [
      {
        id: 'USN-shared',
        ecosystem: 'Ubuntu:22.04:LTS',
        package: 'both',
        fixed: '9.0',
        cve: 'CVE-2026-3000',
        severity: 'low',
        modified: '2026-03-01T00:00:00Z',
      },
    ])
    await imported()
    expect((await record('both'))['cve_results']).toEqual([expect.objectContaining(shared)])
    await rm(join(directory, 'USN-shared.json'))
    await imported()
    expect((await record('both'))['cve_results']).toEqual([
      expect.objectContaining({ ...shared, sources: ['osv-components'] }),
    ])
  })

  it('a vulnerable component that the policy allows changes only the list of findings', async () => {
    await writeAdvisories(directory, [
      { id: 'GHSA-mild', ecosystem: 'npm', package: 'mild', fixed: null, cve: 'CVE-2026-3300', severity: 'medium' },
    ])
    await imported()
    await upload('deb', 'mildly', {
      'opt/node_modules/mild/package.json': JSON.stringify({ name: 'mild', version: '1.0.0' }),
    })
    expect(await scanned('mildly')).toMatchObject({
      status: 'published',
      held_reason: null,
      cve_results: [{ id: 'CVE-2026-3300', action: 'warn' }],
    })
  })

  it('a component that the distribution fixed is not held for the version in its metadata', async () => {
    const requests = (version: string) => ({
      'usr/lib/python3/dist-packages/requests.dist-info/METADATA': `Metadata-Version: 2.1\nName: requests\nVersion: ${version}\n\n`,
    })
    const build = (name: string, version: string) =>
      buildDeb({ name, version, fields: { Source: 'requests' }, files: requests('2.25.1') })
    const put = async (name: string, version: string) => {
      await service.upload(await build(name, version), 'anything.deb', { distribution: 'jammy' })
      return scanned(name)
    }
    await writeAdvisories(directory, [
      {
        id: 'GHSA-requests',
        ecosystem: 'PyPI',
        package: 'requests',
        fixed: '2.31.0',
        cve: 'CVE-2026-3400',
        severity: 'critical',
      },
      {
        id: 'USN-requests',
        ecosystem: 'Ubuntu:22.04:LTS',
        package: 'requests',
        fixed: '2.25.1+dfsg-2ubuntu0.1',
        cve: 'CVE-2026-3400',
        severity: 'medium',
      },
    ])
    await imported()
    expect(await put('python3-requests-old', '2.25.1+dfsg-2')).toMatchObject({
      status: 'pending_review',
      cve_results: [{ id: 'CVE-2026-3400', severity: 'Critical' }],
    })
    const fixed = await put('python3-requests', '2.25.1+dfsg-2ubuntu0.1')
    expect(fixed).toMatchObject({ status: 'published', held_reason: null, cve_results: [] })
    expect(fixed['coverage'].dependency_scan.files_skipped).toEqual([
      { name: 'CVE-2026-3400 in requests 2.25.1', reason: expect.stringMatching(/^by the advisories for Ubuntu/) },
    ])
    // A package from elsewhere with the same component has no fix from the distribution.
    expect(
      await (async () => (await upload('deb', 'vendor-tool', requests('2.25.1')), scanned('vendor-tool')))(),
    ).toMatchObject({ status: 'pending_review', cve_results: [{ id: 'CVE-2026-3400' }] })

    // A vulnerability without an advisory of the distribution counts until an advisory lists this version as fixed.
    await writeAdvisories(directory, [
      {
        id: 'GHSA-requests-2',
        ecosystem: 'PyPI',
        package: 'requests',
        fixed: null,
        cve: 'CVE-2026-3401',
        severity: 'critical',
      },
    ])
    await imported()
    expect(await record('python3-requests')).toMatchObject({
      status: 'pending_review',
      cve_results: [{ id: 'CVE-2026-3401' }],
    })
    await writeAdvisories(directory, [
      {
        id: 'USN-requests-2',
        ecosystem: 'Ubuntu:22.04:LTS',
        package: 'requests',
        fixed: '2.25.1+dfsg-1',
        cve: 'CVE-2026-3401',
        severity: 'low',
      },
    ])
    await imported()
    expect(await record('python3-requests')).toMatchObject({ cve_results: [] })
  })

  it('a package without components is not opened', async () => {
    await upload('deb', 'plain', { 'usr/bin/plain': 'x' })
    // Scans run in order, so once a later package is scanned this one would have been too.
    await upload('deb', 'after-plain', KINDS.deb.library('9.0'))
    await scanned('after-plain')
    const plain = await record('plain')
    expect(plain).toMatchObject({ status: 'published' })
    expect(plain['coverage']).not.toHaveProperty('dependency_scan')
  })
})

describe('hostile archives', () => {
  it.each<[string, () => Buffer, RegExp]>([
    [
      'a bomb',
      () => buildZip(Array.from({ length: 4 }, (_, n) => ({ name: `${n}.jar`, content: Buffer.alloc(30 * MIB) }))),
      /unpack to more than/,
    ],
    [
      '100,000 files',
      () => buildZip(Array.from({ length: 100_000 }, (_, n) => ({ name: `f${n}`, content: '', stored: true }))),
      /files/,
    ],
    [
      'damage',
      () => Buffer.concat([buildJar('a', 'b', '1').subarray(0, 100), Buffer.alloc(500, 7)]),
      /^not a zip archive/,
    ],
  ])('with %s are reported, the readable components are listed, and memory stays small', async (what, jar, reason) => {
    const name = `hostile-${what.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')}`
    const bytes = jar()
    // proc(5): writing 5 resets the peak resident set size to the current one.
    await writeFile(`/proc/${service.process.pid}/clear_refs`, '5')
    const before = await memory()
    await upload('deb', name, { 'opt/evil.jar': bytes, ...KINDS.deb.library('9.0') })
    const record = await scanned(name)
    expect(record).toMatchObject({ status: 'published', cve_results: [] })
    const { files_skipped: skipped } = record['coverage'].dependency_scan
    expect(skipped).toContainEqual({ name: 'opt/evil.jar', reason: expect.stringMatching(reason) })
    expect((await memory()).most - before.now).toBeLessThan(200 * MIB)
    const { body } = await service.call('GET', `/sbom/${name}/1.0-1`)
    expect(JSON.stringify(body)).toContain(`${KINDS.deb.purl}@9.0`)
  })
})

it('a package of nested bombs does not prevent the scan of the next one', async () => {
  const bomb = buildZip([{ name: 'x.jar', content: Buffer.alloc(30 * MIB) }])
  const bombs = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`opt/${n}.jar`, bomb]))
  await upload('deb', 'bombs', bombs)
  await upload('deb', 'honest', KINDS.deb.library('1.5'))
  expect(await scanned('honest')).toMatchObject({ coverage: { dependency_scan: { result: 'scanned' } } })
  expect(await scanned('bombs')).toMatchObject({ coverage: { dependency_scan: { result: 'limited' } } })
})

async function memory(): Promise<{ now: number; most: number }> {
  const text = await readFile(`/proc/${service.process.pid}/status`, 'utf8')
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1])
  return { now: kib('VmRSS') * 1024, most: kib('VmHWM') * 1024 }
}

it('a scan that was pending when the process died is made after the restart', async () => {
  await service.call('PATCH', '/settings/', { validation: { grype_scan: false } })
  await upload('deb', 'interrupted', KINDS.deb.library('1.0'))
  // Only the matching is disabled: components are read and listed in the SBOM.
  await expect
    .poll(async () => JSON.stringify((await service.call('GET', '/sbom/interrupted/1.0-1')).body))
    .toContain(`${KINDS.deb.purl}@1.0`)
  expect(await record('interrupted')).toMatchObject({ status: 'published', coverage: { antivirus: null } })
  await service.call('PATCH', '/settings/', { validation: { grype_scan: true } })
  const { reposDir, databaseUrl } = service
  await service.kill()
  service = await startService({ reposDir, databaseUrl, env: { SVC_OSV_DIR: directory, REPO_FORMAT: 'all' } })
  expect(await scanned('interrupted')).toMatchObject({
    status: 'pending_review',
    served: true,
    held_reason: 'dependency_scan',
  })
})
