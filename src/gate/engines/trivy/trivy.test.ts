// What trivy gets for a package, how its reports are read, and that a failing trivy passes nothing:
// the program is a script that behaves as the real one was seen to.
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { factsToMatch, type PackageFacts } from '../../../domain/package.ts'
import { findDistribution } from '../../../formats/index.ts'
import { isOfStream, trivyDistro, trivyDocument } from './document.ts'
import { DATABASE, FATAL, RECORDED } from './recorded.fixture.ts'
import { readTrivyReport } from './report.ts'
import { createTrivy } from './trivy.ts'

const facts = (over: Partial<PackageFacts> = {}): PackageFacts => ({
  ...factsToMatch({
    format: 'rpm',
    name: 'high',
    version: '1.0-1',
    arch: 'x86_64',
    sourcePackage: null,
    sourceVersion: null,
  }),
  ...over,
})
const distribution = (codename: string) => findDistribution(codename)!.distribution

describe('the input of trivy', () => {
  test.each([
    ['jammy', 'ubuntu', '22.04', 'ubuntu 22.04'],
    ['bookworm', 'debian', '12', 'debian 12'],
    ['almalinux9', 'alma', '9', 'alma 9'],
    ['rocky8', 'rocky', '8', 'rocky 8'],
    ['centos-stream9', 'centos', '9', 'Red Hat'],
    ['oraclelinux8', 'oracle', '8', 'Oracle Linux 8'],
    ['fedora', 'fedora', '42', null],
    ['opensuse-leap-15.6', 'opensuse-leap', '15.6', 'openSUSE Leap 15.6'],
    ['opensuse-tumbleweed', 'opensuse-tumbleweed', 'latest', 'openSUSE Tumbleweed'],
    ['alpine3.18', 'alpine', '3.18', 'alpine 3.18'],
  ])('%s is %s %s, its advisories are in %s', (codename, family, version, bucket) => {
    expect(trivyDistro(distribution(codename))).toEqual({ family, version, bucket })
  })

  test('the system, and the source in the parts trivy keeps it in', () => {
    const document = JSON.parse(
      trivyDocument(
        facts({ version: '1:2.0-3.el9', sourcePackage: 'src', sourceVersion: '4:1.0-rc1-2' }),
        distribution('almalinux9'),
      ),
    ) as { components: { properties?: { name: string; value: string }[] }[]; dependencies: unknown }
    const [os, pkg] = document.components
    expect(os).toMatchObject({ type: 'operating-system', name: 'alma', version: '9' })
    expect(pkg).toMatchObject({ purl: 'pkg:rpm/alma/high@2.0-3.el9?arch=x86_64&distro=alma-9&epoch=1' })
    expect(Object.fromEntries(pkg!.properties!.map(({ name, value }) => [name.split(':').at(-1), value]))).toEqual({
      PkgType: 'rpm',
      SrcName: 'src',
      SrcVersion: '1.0-rc1',
      SrcRelease: '2',
      SrcEpoch: '4',
    })
    expect(document.dependencies).toEqual([
      { ref: 'root', dependsOn: ['os'] },
      { ref: 'os', dependsOn: ['package'] },
    ])
  })

  test('the architecture of the distribution if the package has none: advisories are per architecture', () => {
    expect(trivyDocument(facts({ arch: '' }), distribution('rocky9'))).toContain(
      'high@1.0-1?arch=x86_64&distro=rocky-9',
    )
    expect(trivyDocument(facts({ arch: 'noarch' }), distribution('rocky9'))).toContain('?arch=noarch&')
  })

  test.each([
    ['rocky8', '1.0-1.module+el8.9.0+1234+abcd', true],
    ['almalinux8', '1:1.0-1.module_el8.6.0+3000+abcd', true],
    ['centos-stream9', '1.0-1.module+el9+1+a', true],
    ['oraclelinux8', '1.0-1.module+el8.9.0+1234+abcd', false],
    ['rocky9', '1.0-1.el9', false],
  ])('of %s: %s is of a stream: %s', (codename, version, expected) => {
    expect(isOfStream(facts({ version }), trivyDistro(distribution(codename)))).toBe(expected)
  })
})

describe('recorded reports', () => {
  const read = (name: keyof typeof RECORDED, codename: string, packageName = 'high') =>
    readTrivyReport(
      RECORDED[name],
      { name: packageName, version: '1.0-1', format: 'rpm' },
      trivyDistro(distribution(codename)),
    )

  test('a CVE with its score, its fix and its links', () => {
    expect(read('rocky', 'rocky9')).toEqual({
      version: null,
      matched: true,
      endOfLife: false,
      findings: [
        {
          id: 'CVE-2026-0001',
          severity: 'High',
          cvss: 7.5,
          description: 'a hole in high',
          package_name: 'high',
          package_version: '1.0-1',
          package_type: 'rpm',
          fix_state: 'fixed',
          fix_versions: ['2.0-1'],
          urls: ['https://avd.aquasec.com/nvd/cve-2026-0001', 'https://example.org/a', 'https://example.org/b'],
          epss: null,
          epss_percent: null,
          epss_label: null,
          in_kev: false,
          sources: ['trivy'],
          aliases: [],
        },
      ],
    })
  })

  test('of Red Hat: the CVEs of an advisory, worst first, and one that will not be fixed', () => {
    expect(read('centos', 'centos-stream9').findings).toMatchObject([
      { id: 'CVE-2026-0002', severity: 'Critical', fix_versions: ['2.0-1'], aliases: ['RHSA-2026:0001'] },
      { id: 'CVE-2026-0003', severity: 'Critical', fix_versions: ['2.0-1'] },
      { id: 'CVE-2026-0004', severity: 'Low', fix_state: 'wont-fix', fix_versions: [] },
    ])
  })

  test('SUSE: an advisory becomes one finding per CVE, and the ended release is reported', () => {
    const { findings, endOfLife } = read('leap', 'opensuse-leap-15.6')
    expect(findings.map(({ id, severity, fix_versions }) => [id, severity, fix_versions])).toEqual([
      ['CVE-2026-0005', 'Medium', ['2.0-1']],
      ['CVE-2026-0006', 'Medium', ['2.0-1']],
    ])
    expect(endOfLife).toBe(true)
  })

  test('a finding of the source package without a rating', () => {
    expect(read('ubuntu', 'jammy', 'part').findings).toMatchObject([
      { id: 'CVE-2026-0007', severity: 'Unknown', cvss: null, package_name: 'part' },
    ])
  })

  test('a report without the package, or of another system, does not count as matched', () => {
    expect(read('debianFixed', 'bookworm')).toMatchObject({ matched: true, findings: [] })
    expect(read('debianFixed', 'bookworm', 'low')).toMatchObject({ matched: false })
    expect(read('debianFixed', 'jammy')).toMatchObject({ matched: false })
    expect(read('fedora', 'fedora')).toMatchObject({ matched: false, findings: [] })
  })
})

describe('other reports', () => {
  const rocky9 = { family: 'rocky', version: '9' }
  const about = (vulnerability: object, more: object = {}) =>
    readTrivyReport(
      { SchemaVersion: 2, Results: [{ Class: 'os-pkgs', Type: 'rocky', Vulnerabilities: [vulnerability] }], ...more },
      { name: 'high', version: '1.0-1', format: 'rpm' },
      rocky9,
    )

  test('the score is that of the severity source, else NVD, else the first; two fixes stay two', () => {
    const CVSS = { amazon: { V3Score: 1 }, nvd: { V2Score: 5, V3Score: 9.8 }, rocky: { V3Score: 7.5 } }
    expect(
      about({ VulnerabilityID: 'CVE-2026-0001', SeveritySource: 'rocky', CVSS, FixedVersion: '2.0-1, 3.0-1' }).findings,
    ).toMatchObject([{ cvss: 7.5, fix_versions: ['2.0-1', '3.0-1'] }])
    expect(about({ VulnerabilityID: 'CVE-2026-0001', CVSS }).findings).toMatchObject([
      { cvss: 9.8, fix_state: 'unknown' },
    ])
    expect(
      about({ VulnerabilityID: 'CVE-2026-0001', CVSS: { ghsa: { V40Score: 6, V3Score: 5 }, amazon: {} } }).findings,
    ).toMatchObject([{ cvss: 6 }])
  })

  test('a later trivy names itself in its reports', () => {
    expect(about({ VulnerabilityID: 'CVE-2026-0001' }, { Trivy: { Version: '0.69.0' } }).version).toBe('0.69.0')
  })

  test('that are malformed are refused', () => {
    for (const given of [
      { Results: [] },
      { SchemaVersion: 1 },
      { SchemaVersion: 2, Results: [{ Class: 'os-pkgs', Type: 'rocky', Vulnerabilities: [{ Severity: 'HIGH' }] }] },
    ]) {
      expect(() => readTrivyReport(given, { name: 'high', version: '1.0-1', format: 'rpm' }, rocky9)).toThrow(
        expect.objectContaining({ name: 'UnreadableOutput' }),
      )
    }
  })
})

let directory: string
let cache: string
const clock = { now: () => new Date('2026-11-21T18:00:00Z') }
const metadata = (updated: string, more: object = {}) =>
  JSON.stringify({
    Version: 2,
    NextUpdate: '2026-11-21T06:00:00Z',
    UpdatedAt: updated,
    DownloadedAt: '0001-01-01T00:00:00Z',
    ...more,
  })

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'trivy-'))
})
beforeEach(async () => {
  cache = await mkdtemp(join(directory, 'cache-'))
  await mkdir(join(cache, 'trivy', 'db'), { recursive: true })
  await writeFile(join(cache, 'trivy', 'db', 'metadata.json'), metadata('2026-11-20T06:00:00.123456789Z'))
  await writeFile(join(cache, 'trivy', 'db', 'trivy.db'), DATABASE)
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const MINUTES = 600_000

/** Answers as the real program, unless the script has a case of its own. */
async function fake(cases = '', scanTimeoutMs = MINUTES, againAfterMs = 10) {
  for (const [name, report] of Object.entries(RECORDED))
    await writeFile(join(cache, `${name}.json`), JSON.stringify(report))
  await writeFile(join(cache, 'fatal'), FATAL)
  const program = join(cache, 'program')
  await writeFile(
    program,
    `#!/bin/sh\nhere='${cache}'\necho "$*" >> $here/calls\nenv > $here/env\ncase "$*" in\n${cases}\nversion*) echo '{"Version":"0.68.2"}';;\nsbom*) cat $here/rocky.json;;\nesac\n`,
  )
  await chmod(program, 0o755)
  return createTrivy({
    program,
    cacheDirectory: cache,
    environment: { PATH: '/usr/bin:/bin' },
    clock,
    scanTimeoutMs,
    againAfterMs,
  })
}
const scan = (trivy: ReturnType<typeof createTrivy>, codename = 'rocky9', over: Partial<PackageFacts> = {}) =>
  trivy.scan({ facts: facts(over), distribution: distribution(codename) })
const calls = async () => (await readFile(join(cache, 'calls'), 'utf8')).trim().split('\n')

describe('a scan', () => {
  test('returns its coverage and version, loads nothing, and leaves no file behind', async () => {
    const trivy = await fake()
    for (let i = 0; i < 2; i++) {
      expect(await scan(trivy)).toMatchObject({
        result: 'scanned',
        findings: [{ id: 'CVE-2026-0001' }],
        message: '1 known vulnerability for rocky/9',
        coverage: {
          engine: 'trivy',
          engine_version: '0.68.2',
          database_date: '2026-11-20T06:00:00.123+00:00',
          distro_matched: 'rocky/9',
        },
      })
    }
    const asked = await calls()
    for (const word of ['sbom ', '--format json', '--skip-db-update', '--offline-scan'])
      expect(asked[0]).toContain(word)
    expect(asked.filter((call) => call.startsWith('version'))).toHaveLength(1)
    expect(await readFile(join(cache, 'env'), 'utf8')).not.toContain('VITEST')
    expect(await readdir(join(cache, 'work', 'trivy'))).toEqual([])
  })

  test('without findings is clean if trivy matched the package and its database has the release', async () => {
    expect(await scan(await fake('sbom*) cat $here/debianFixed.json;;'), 'bookworm')).toMatchObject({
      result: 'scanned',
      findings: [],
      coverage: { distro_matched: 'debian/12' },
    })
  })

  test.each([
    ['of a system it does not support', 'fedora', 'cat $here/fedora.json', {}],
    ['of a release that its database has nothing of', 'focal', 'cat $here/focal.json', {}],
    ['of another release than it was told of', 'bookworm', 'sed s/12/13/ $here/debianFixed.json', {}],
    [
      'of a version it cannot read',
      'bookworm',
      `echo '2026-11-21T18:13:09Z	DEBUG	[debian] Failed to parse the installed package version	err="upstream_version must start with digit"' >&2; cat $here/debianFixed.json`,
      {},
    ],
    [
      'of a package it left out',
      'bookworm',
      `echo '2026-11-21T18:13:18Z	DEBUG	[centos] Skipping the package with unsupported vendor	package="high"' >&2; cat $here/debianFixed.json`,
      {},
    ],
    [
      'of modules it left out',
      'bookworm',
      `echo '2026-11-21T18:13:16Z	INFO	[alma] Skipped detection of the packages because modular packages cannot be detected correctly due to a bug in AlmaLinux.' >&2; cat $here/debianFixed.json`,
      {},
    ],
    [
      'of a module, whose stream it is not told',
      'rocky9',
      `sed -e 's/"Vulnerabilities"/"None"/' $here/rocky.json`,
      { version: '1.0-1.module+el9.1.0+1+a' },
    ],
  ])('without findings %s is no data', async (_, codename, body, over) => {
    expect(await scan(await fake(`sbom*) ${body};;`), codename, over)).toMatchObject({
      result: 'no_data',
      coverage: { distro_matched: null, files_seen: 0 },
    })
  })

  test('without findings is an error if the database cannot be read', async () => {
    const trivy = await fake('sbom*) cat $here/debianFixed.json;;')
    expect(await scan(trivy, 'bookworm')).toMatchObject({ result: 'scanned' })
    await writeFile(join(cache, 'trivy', 'db', 'trivy.db'), 'this is no database')
    expect(await scan(trivy, 'bookworm')).toMatchObject({
      result: 'error',
      message: 'the database of trivy cannot be read',
    })
    await writeFile(join(cache, 'trivy', 'db', 'trivy.db'), DATABASE)
    expect(await scan(trivy, 'bookworm')).toMatchObject({ result: 'scanned' })
  })

  test('is repeated when the database was being replaced', async () => {
    const replaced =
      'sbom*) mv $here/trivy/db $here/aside; (sleep 0.3; mv $here/aside $here/trivy/db) > /dev/null 2>&1 & cat $here/debianFixed.json;;'
    // On a busy machine it may take seconds until the database is back.
    expect(await scan(await fake(replaced, MINUTES, 10_000), 'bookworm')).toMatchObject({
      result: 'scanned',
      findings: [],
    })
  })

  test('reports an ended release and an old database', async () => {
    await writeFile(join(cache, 'trivy', 'db', 'metadata.json'), metadata('2026-11-11T06:00:00Z'))
    expect(await scan(await fake('sbom*) cat $here/leap.json;;'), 'opensuse-leap-15.6')).toMatchObject({
      result: 'scanned',
      message:
        '2 known vulnerabilities for opensuse-leap/15.6, of a release that gets no more advisories, in a database that is 10 days old',
    })
  })

  test.each([
    ['crashes', 'kill -SEGV $$', MINUTES, /SIGSEGV/],
    [
      'fails, whatever it wrote',
      `cat $here/debianFixed.json; cat $here/fatal >&2; exit 1`,
      MINUTES,
      /code 1: failed to open db: invalid database$/,
    ],
    [
      'panics',
      `echo 'panic: assertion failed: Page expected to be: 15, but self identifies as 0' >&2; exit 2`,
      MINUTES,
      /code 2: panic: assertion failed/,
    ],
    ['writes something else', 'echo "<html>"', MINUTES, /no JSON/],
    ['writes nothing', 'true', MINUTES, /no JSON/],
    ['writes without end', 'yes', MINUTES, /wrote more than/],
    ['is slow', 'sleep 60', 300, /did not answer within/],
  ])('by a program that %s is no pass', async (_, body, timeoutMs, message) => {
    expect(await scan(await fake(`sbom*) ${body};;`, timeoutMs))).toMatchObject({
      result: 'error',
      findings: [],
      message: expect.stringMatching(message),
    })
  })
})

describe('its database', () => {
  const COMES = (updated: string) =>
    `*download-db-only) mkdir db && cp $here/trivy/db/trivy.db db/ && echo '${metadata(updated)}' > db/metadata.json;;`
  const inForce = () => readFile(join(cache, 'trivy', 'db', 'metadata.json'), 'utf8')

  test('is reported with its version and date', async () => {
    expect(await (await fake()).status()).toMatchObject({
      available: true,
      engine: 'trivy',
      version: '0.68.2',
      db_version: '2',
      db_date: '2026-11-20T06:00:00.123+00:00',
      db_files: ['trivy.db'],
      error: null,
    })
  })

  test.each([
    ['is not there', () => rm(join(cache, 'trivy', 'db'), { recursive: true }), 'trivy has no database yet'],
    [
      'is no database',
      () => writeFile(join(cache, 'trivy', 'db', 'trivy.db'), 'this is no database'),
      'the database of trivy cannot be read',
    ],
  ])('that %s makes the engine not available', async (_, spoil, error) => {
    await spoil()
    expect(await (await fake()).status()).toMatchObject({ available: false, version: '0.68.2', db_date: null, error })
  })

  test('is updated when its date changes, once at a time, beside the one in force', async () => {
    const trivy = await fake(COMES('2026-11-21T12:00:00Z'))
    const first = trivy.update()
    await expect(trivy.update()).rejects.toMatchObject({ code: 'already_running' })
    expect(await first).toEqual({
      status: 'updated',
      message: 'the database of trivy is of 2026-11-21T12:00:00.000+00:00',
    })
    expect(await inForce()).toContain('2026-11-21T12')
    expect(await trivy.update()).toMatchObject({ status: 'up_to_date' })
    expect((await readdir(cache)).filter((name) => name.startsWith('trivy'))).toEqual(['trivy'])
    expect(await readdir(join(cache, 'trivy'))).toEqual(['db'])
  })

  test('is not asked for again before trivy would, unless it does not work', async () => {
    await writeFile(
      join(cache, 'trivy', 'db', 'metadata.json'),
      metadata('2026-11-21T12:00:00Z', { NextUpdate: '2026-11-22T12:00:00Z' }),
    )
    const trivy = await fake(COMES('2026-11-21T13:00:00Z') + 'sbom*) exit 1;;')
    expect(await trivy.update()).toMatchObject({ status: 'up_to_date' })
    await expect(calls()).rejects.toMatchObject({ code: 'ENOENT' })
    await scan(trivy)
    expect(await trivy.update()).toMatchObject({ status: 'updated' })
  })

  test.each([
    [
      'cannot be loaded',
      `*download-db-only) mkdir db && echo half > db/trivy.db; echo '* Get "https://example.org/v2/": no such host' >&2; exit 1;;`,
      /code 1: .*no such host/,
    ],
    ['is no database', '*download-db-only) mkdir db && echo half > db/trivy.db;;', /cannot be read/],
    ['is not there at the end', '*download-db-only) true;;', /cannot be opened/],
  ])('stays when a newer one %s', async (_, cases, message) => {
    expect(await (await fake(cases)).update()).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(message),
    })
    expect(await inForce()).toContain('2026-11-20T06')
  })
})
