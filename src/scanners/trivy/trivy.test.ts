// What trivy is told of a package, what its reports say in our words, and that a trivy that is not well passes nothing.
// The reports are written after trivy's own types, and the program is a script.
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { PackageFacts } from '../../domain/package.ts'
import { findDistribution } from '../../formats/index.ts'
import { trivyDistro, trivyDocument } from './document.ts'
import { readTrivyReport } from './report.ts'
import { createTrivy } from './trivy.ts'

const facts = (over: Partial<PackageFacts> = {}): PackageFacts => ({
  format: 'rpm', name: 'high', version: '1.0-1', arch: 'x86_64', sourcePackage: null, sourceVersion: null, section: null, description: null, maintainer: null, license: null,
  url: null, installedSizeKb: null, requirements: [], provides: [], files: [], signatures: [], record: null, ...over,
})
const distribution = (codename: string) => findDistribution(codename)!.distribution

const REPORT = {
  SchemaVersion: 2,
  Trivy: { Version: '0.68.2' },
  ArtifactType: 'cyclonedx',
  Metadata: { OS: { Family: 'rocky', Name: '9' } },
  Results: [
    {
      Target: 'x (rocky 9)',
      Class: 'os-pkgs',
      Type: 'rocky',
      Packages: [{ Name: 'high', Version: '1.0', Release: '1' }],
      Vulnerabilities: [
        {
          VulnerabilityID: 'CVE-2026-1', PkgName: 'high', InstalledVersion: '1.0-1', FixedVersion: '2.0-1, 3.0-1', Status: 'fixed', SeveritySource: 'rocky', PrimaryURL: 'https://example.org/1',
          Title: 'a hole', Description: 'a long text', Severity: 'HIGH', CVSS: { nvd: { V2Score: 5, V3Score: 9.8 }, rocky: { V3Score: 7.5 } }, References: ['https://example.org/1', 'https://example.org/2', 'mailto:x', 'https://example.org/3', 'https://example.org/4'],
        },
        { VulnerabilityID: 'CVE-2026-2', PkgName: 'high', Status: 'will_not_fix', Severity: 'CRITICAL', Description: 'only this' },
        { VulnerabilityID: 'CVE-2026-3', PkgName: 'high', Status: 'affected', Severity: 'UNKNOWN' },
      ],
    },
  ],
}
const EMPTY = { ...REPORT, Results: [{ Target: 'x', Class: 'os-pkgs', Type: 'rocky', Packages: [{ Name: 'high' }] }] }
const UNSUPPORTED = { ...REPORT, Results: undefined }

describe('what trivy is told', () => {
  test.each([
    ['jammy', 'ubuntu', '22.04'], ['almalinux9', 'alma', '9'], ['rocky8', 'rocky', '8'], ['centos-stream9', 'centos', '9'], ['oraclelinux8', 'oracle', '8'], ['fedora', 'fedora', '42'],
    ['opensuse-leap-15.6', 'opensuse-leap', '15.6'], ['opensuse-tumbleweed', 'opensuse-tumbleweed', 'latest'], ['alpine3.18', 'alpine', '3.18'],
  ])('%s is %s %s', (codename, family, version) => {
    expect(trivyDistro(distribution(codename))).toEqual({ family, version })
  })

  test('the system, and the source in the parts trivy keeps it in', () => {
    const document = JSON.parse(trivyDocument(facts({ version: '1:2.0-3.el9', sourcePackage: 'src', sourceVersion: '4:1.0-rc1-2' }), distribution('almalinux9'))) as { components: { properties?: { name: string; value: string }[] }[]; dependencies: unknown }
    const [os, pkg] = document.components
    expect(os).toMatchObject({ type: 'operating-system', name: 'alma', version: '9' })
    expect(pkg).toMatchObject({ purl: 'pkg:rpm/alma/high@2.0-3.el9?arch=x86_64&distro=alma-9&epoch=1' })
    expect(Object.fromEntries(pkg!.properties!.map(({ name, value }) => [name.split(':').at(-1), value]))).toEqual({ PkgType: 'rpm', SrcName: 'src', SrcVersion: '1.0-rc1', SrcRelease: '2', SrcEpoch: '4' })
    expect(document.dependencies).toEqual([{ ref: 'root', dependsOn: ['os'] }, { ref: 'os', dependsOn: ['package'] }])
  })
})

describe('a report', () => {
  const read = (report: unknown) => readTrivyReport(report as never, { name: 'high', version: '1.0-1', format: 'rpm' })

  test('in our words, worst first', () => {
    expect(read(REPORT).findings).toMatchObject([
      { id: 'CVE-2026-2', severity: 'Critical', fix_state: 'wont-fix', fix_versions: [], description: 'only this', cvss: null, urls: [] },
      { id: 'CVE-2026-1', severity: 'High', fix_state: 'fixed', fix_versions: ['2.0-1', '3.0-1'], description: 'a hole', cvss: 7.5, urls: ['https://example.org/1', 'https://example.org/2', 'https://example.org/3'], sources: ['trivy'] },
      { id: 'CVE-2026-3', severity: 'Unknown', fix_state: 'not-fixed' },
    ])
  })

  test('without the result of a system tells that nobody looked', () => {
    expect(read(EMPTY)).toMatchObject({ looked: true, findings: [] })
    expect(read(UNSUPPORTED)).toMatchObject({ looked: false, findings: [] })
    expect(() => read({ Results: [] })).toThrow(expect.objectContaining({ name: 'UnreadableOutput' }))
  })
})

let directory: string
let cache: string
const clock = { now: () => new Date('2026-11-21T18:00:00Z') }

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'trivy-'))
})
beforeEach(async () => {
  cache = await mkdtemp(join(directory, 'cache-'))
  await mkdir(join(cache, 'trivy', 'db'), { recursive: true })
  await writeFile(join(cache, 'trivy', 'db', 'metadata.json'), JSON.stringify({ Version: 2, UpdatedAt: '2026-11-20T06:00:00.123456789Z' }))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

async function fake(body: string, scanTimeoutMs = 10_000) {
  for (const [name, report] of Object.entries({ report: REPORT, empty: EMPTY, unsupported: UNSUPPORTED })) await writeFile(join(cache, `${name}.json`), JSON.stringify(report))
  const program = join(cache, 'program')
  await writeFile(program, `#!/bin/sh\ncd '${cache}'\necho "$*" >> calls\nenv > env\n${body}\n`)
  await chmod(program, 0o755)
  return createTrivy({ program, cacheDirectory: cache, environment: { PATH: '/usr/bin:/bin' }, clock, scanTimeoutMs, againAfterMs: 10 })
}
const scan = (trivy: ReturnType<typeof createTrivy>) => trivy.scan({ facts: facts(), distribution: distribution('rocky9') })

describe('a scan', () => {
  test('names the distribution, loads nothing, and leaves no file behind', async () => {
    const trivy = await fake('cat report.json')
    expect(await scan(trivy)).toMatchObject({ word: 'scanned', findings: [{ id: 'CVE-2026-2' }, { id: 'CVE-2026-1' }, { id: 'CVE-2026-3' }], coverage: { engine: 'trivy', engine_version: '0.68.2', database_date: '2026-11-20T06:00:00.123+00:00', distro_matched: 'rocky/9' } })
    const calls = await readFile(join(cache, 'calls'), 'utf8')
    for (const word of ['sbom ', '--format json', '--distro rocky/9', '--skip-db-update', '--offline-scan']) expect(calls).toContain(word)
    expect(await readFile(join(cache, 'env'), 'utf8')).not.toContain('VITEST')
    expect(await readdir(join(cache, 'work', 'trivy'))).toEqual([])
  })

  test('without findings is clean when it looked', async () => {
    expect(await scan(await fake('cat empty.json'))).toMatchObject({ word: 'scanned', findings: [] })
  })

  test.each([
    ['of a system it does not support', 'cat unsupported.json'],
    ['of a release it has never heard of', `echo 'WARN This OS version is not on the EOL list' >&2; cat empty.json`],
    ['of a package it left out', `echo 'INFO Skipped detection of the packages because modular packages cannot be detected correctly' >&2; cat empty.json`],
  ])('without findings %s is no data', async (_, body) => {
    expect(await scan(await fake(body))).toMatchObject({ word: 'no_data', coverage: { distro_matched: null } })
  })

  test.each([
    ['crashes', 'kill -SEGV $$', 10_000],
    ['fails, whatever it wrote', `cat empty.json; echo 'FATAL run error: init error: DB error' >&2; exit 1`, 10_000],
    ['writes something else', 'echo "<html>"', 10_000],
    ['writes without end', 'yes', 10_000],
    ['is slow', 'sleep 60', 300],
  ])('by a program that %s is no pass', async (_, body, timeoutMs) => {
    expect(await scan(await fake(body, timeoutMs))).toMatchObject({ word: 'error', findings: [] })
  })
})

describe('its database', () => {
  test('is told, and is updated when its date changes', async () => {
    const trivy = await fake(`case "$*" in version*) echo '{"Version":"0.68.2","VulnerabilityDB":{"Version":2,"UpdatedAt":"2026-11-20T06:00:00Z","DownloadedAt":"2026-11-20T07:00:00Z"}}';; *download-db-only) echo '{"Version":2,"UpdatedAt":"2026-11-21T06:00:00Z"}' > trivy/db/metadata.json;; esac`)
    expect(await trivy.status()).toMatchObject({ available: true, engine: 'trivy', version: '0.68.2', db_version: '2', db_date: '2026-11-20T06:00:00.000+00:00', error: null })
    expect(await trivy.update()).toMatchObject({ status: 'updated' })
    expect(await trivy.update()).toMatchObject({ status: 'up_to_date' })
  })

  test('that is not there makes the engine not available', async () => {
    expect(await (await fake(`echo '{"Version":"0.68.2"}'`)).status()).toMatchObject({ available: false, version: '0.68.2', error: 'trivy has no database yet' })
  })
})
