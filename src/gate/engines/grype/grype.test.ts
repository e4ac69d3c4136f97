// What grype gets for a package, how its reports are read, and what happens when grype fails:
// the program is a script that behaves as the real one was seen to.
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { factsToMatch, type PackageFacts } from '../../../domain/package.ts'
import { findDistribution } from '../../../formats/index.ts'
import { createGrype } from './grype.ts'
import { grypeDistro, grypeDocument } from './document.ts'
import { RECORDED } from './recorded.fixture.ts'
import { readGrypeReport } from './report.ts'

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

interface Document {
  components: { name: string; version: string; purl: string }[]
}
const told = (over: Partial<PackageFacts>, codename: string) =>
  (JSON.parse(grypeDocument(facts(over), distribution(codename))) as Document).components[0]!

describe('the input of grype', () => {
  test.each([
    ['jammy', 'ubuntu:22.04'],
    ['bookworm', 'debian:12'],
    ['almalinux9', 'almalinux:9'],
    ['rocky8', 'rockylinux:8'],
    ['centos-stream9', 'centos:9'],
    ['oraclelinux8', 'oraclelinux:8'],
    ['fedora', 'fedora:42'],
    ['opensuse-leap-15.6', 'opensuse-leap:15.6'],
    ['opensuse-tumbleweed', 'opensuse/tumbleweed:latest'],
    ['alpine3.18', 'alpine:3.18'],
  ])('%s is %s', (codename, distro) => {
    expect(grypeDistro(distribution(codename))).toBe(distro)
  })

  test.each<[string, Partial<PackageFacts>, string, string]>([
    [
      'an rpm with an epoch',
      { version: '1:2.0-3.el9', sourcePackage: 'high', sourceVersion: '2.0-3.el9' },
      'almalinux9',
      'pkg:rpm/almalinux/high@2.0-3.el9?arch=x86_64&distro=almalinux-9&epoch=1',
    ],
    [
      'an rpm of another source',
      { sourcePackage: 'src', sourceVersion: '1.0-1' },
      'rocky9',
      'pkg:rpm/rockylinux/high@1.0-1?arch=x86_64&distro=rockylinux-9&upstream=src-1.0-1.src.rpm',
    ],
    [
      'a deb with an epoch and a source of another version',
      { format: 'deb', version: '1:1.0-1+b2', arch: 'amd64', sourcePackage: 'src', sourceVersion: '1:1.0-1' },
      'jammy',
      'pkg:deb/ubuntu/high@1:1.0-1%2Bb2?arch=amd64&distro=ubuntu-22.04&upstream=src%401:1.0-1',
    ],
    [
      'a deb that is its own source',
      { format: 'deb', arch: 'amd64', sourcePackage: 'high', sourceVersion: '1.0-1' },
      'jammy',
      'pkg:deb/ubuntu/high@1.0-1?arch=amd64&distro=ubuntu-22.04',
    ],
    [
      'an apk with an origin',
      { format: 'apk', version: '1.0-r1', sourcePackage: 'src' },
      'alpine3.21',
      'pkg:apk/alpine/high@1.0-r1?arch=x86_64&distro=alpine-3.21&upstream=src%401.0-r1',
    ],
    [
      'a name that is no letters',
      { name: 'libstdc++6' },
      'almalinux9',
      'pkg:rpm/almalinux/libstdc%2B%2B6@1.0-1?arch=x86_64&distro=almalinux-9',
    ],
  ])('%s', (_, over, codename, purl) => {
    const component = told(over, codename)
    expect(component.purl).toBe(purl)
    expect(component.version).toBe(facts(over).version)
  })
})

const read = (report: unknown) => readGrypeReport(report as never, { name: 'high', version: '1.0-1', format: 'rpm' })

describe('recorded reports', () => {
  test('a CVE with its score, its fix and that it is exploited', () => {
    const report = read(RECORDED.rocky)
    expect(report).toMatchObject({ version: '0.110.0', databaseDate: expect.stringMatching(/^2026-11-21T/) })
    expect(report.findings).toEqual([
      {
        id: 'CVE-2026-1',
        severity: 'High',
        cvss: 7.5,
        description: 'a hole',
        package_name: 'high',
        package_version: '1.0-1',
        package_type: 'rpm',
        fix_state: 'fixed',
        fix_versions: ['2.0-1'],
        urls: ['https://example.org/a'],
        epss: null,
        epss_percent: null,
        epss_label: null,
        in_kev: true,
        sources: ['grype'],
        aliases: [],
      },
    ])
  })

  test('an advisory becomes one finding per CVE', () => {
    expect(
      read(RECORDED.oracle).findings.map(({ id, severity, fix_versions }) => [id, severity, fix_versions]),
    ).toEqual([
      ['CVE-2026-1', 'Medium', ['2.0-1']],
      ['CVE-2026-2', 'Medium', ['2.0-1']],
    ])
    // People ask by the name of the advisory too.
    for (const { aliases } of read(RECORDED.oracle).findings) expect(aliases).toEqual([expect.stringMatching(/^ELSA-/)])
  })

  test('findings of the source package, without a fix and without a rating', () => {
    expect(read(RECORDED.ubuntu).findings).toMatchObject([
      { id: 'CVE-2026-3', severity: 'Negligible', fix_state: 'wont-fix', fix_versions: [] },
    ])
    expect(read(RECORDED.alpine).findings).toMatchObject([
      { id: 'CVE-2026-4', severity: 'Unknown', fix_state: 'fixed' },
    ])
  })
})

describe('other reports', () => {
  const match = (vulnerability: object, related: object[] = []) => ({
    matches: [{ vulnerability, relatedVulnerabilities: related }],
    descriptor: { name: 'grype' },
  })

  test('an advisory without a CVE keeps its name, one with is filled in from what is said of the CVE', () => {
    expect(read(match({ id: 'GHSA-aaaa-bbbb-cccc', severity: 'high' })).findings).toMatchObject([
      { id: 'GHSA-aaaa-bbbb-cccc', severity: 'High', fix_state: 'unknown' },
    ])
    const filled = read(
      match({ id: 'ALPINE-1', severity: 'Unknown' }, [
        {
          id: 'CVE-2026-9',
          severity: 'Critical',
          description: 'text',
          cvss: [
            { version: '2.0', metrics: { baseScore: 5 } },
            { version: '3.1', metrics: { baseScore: 9.8 } },
          ],
          epss: [{ cve: 'CVE-2026-9', epss: 0.25 }],
        },
      ]),
    )
    expect(filled.findings).toMatchObject([
      { id: 'CVE-2026-9', severity: 'Critical', description: 'text', cvss: 9.8, epss: 0.25, epss_percent: 25 },
    ])
  })

  test('two advisories about one CVE become one finding with the worse severity', () => {
    const { findings } = read({
      descriptor: { name: 'grype' },
      matches: [
        {
          vulnerability: {
            id: 'CVE-2026-9',
            severity: 'Low',
            fix: { state: 'wont-fix' },
            urls: ['https://example.org/1', 'ftp://example.org/2'],
          },
        },
        {
          vulnerability: {
            id: 'CVE-2026-9',
            severity: 'High',
            fix: { state: 'fixed', versions: ['2'] },
            urls: ['https://example.org/3', 'https://example.org/4', 'https://example.org/5'],
          },
        },
      ],
    })
    expect(findings).toMatchObject([
      {
        severity: 'High',
        fix_state: 'fixed',
        fix_versions: ['2'],
        urls: ['https://example.org/3', 'https://example.org/4', 'https://example.org/5'],
      },
    ])
  })

  test.each([
    ['without matches', { descriptor: { name: 'grype' } }],
    ['of another program', { matches: [], descriptor: { name: 'syft' } }],
    ['with a match without an id', match({ severity: 'High' })],
  ])('%s are no reports', (_, report) => {
    expect(() => read(report)).toThrow(expect.objectContaining({ name: 'UnreadableOutput' }))
  })
})

let directory: string
let cache: string
const clock = { now: () => new Date('2026-11-21T18:00:00Z') }

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'grype-'))
})
beforeEach(async () => {
  cache = await mkdtemp(join(directory, 'cache-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** Answers as the real program, unless the script has a case of its own. */
async function fake(cases: string, scanTimeoutMs = 600_000) {
  for (const [name, report] of Object.entries(RECORDED))
    await writeFile(join(cache, `${name}.json`), JSON.stringify(report))
  const program = join(cache, 'grype')
  await writeFile(
    program,
    `#!/bin/sh\necho "$*" >> '${cache}/calls'\nenv > '${cache}/env'\ncase "$*" in\n${cases}\n*--distro\\ fedora*"-o json") cat '${cache}/fedora.json';;\nsbom:*) cp "\${1#sbom:}" '${cache}/told'; cat '${cache}/rocky.json';;\nesac\n`,
  )
  await chmod(program, 0o755)
  return createGrype({
    program,
    cacheDirectory: join(cache, 'db'),
    environment: { PATH: '/usr/bin:/bin' },
    updateUrl: null,
    clock,
    scanTimeoutMs,
    againAfterMs: 10,
  })
}
const scan = (grype: ReturnType<typeof createGrype>, codename = 'rocky9') =>
  grype.scan({ facts: facts(), distribution: distribution(codename) })
const calls = async () => (await readFile(join(cache, 'calls'), 'utf8')).trim().split('\n')

const UNKNOWN = `"db search"*) printf '[0000] ERROR \\033[31munable to get affected packages for any: OS not present\\033[0m\\n' >&2; exit 1;;`
const KNOWN = `"db search"*) echo '[]';;`

describe('a scan', () => {
  test('returns findings with their coverage, and leaves no file behind', async () => {
    const grype = await fake('')
    const result = await scan(grype)
    expect(result).toMatchObject({
      result: 'scanned',
      coverage: {
        engine: 'grype',
        engine_version: '0.110.0',
        database_date: expect.stringMatching(/^2026-11-21T/),
        distro_matched: 'rockylinux:9',
        files_seen: 1,
      },
    })
    expect(result.findings).toHaveLength(1)
    expect((await calls())[0]).toMatch(/^sbom:\S+ --distro rockylinux:9 -o json$/)
    expect(await readFile(join(cache, 'told'), 'utf8')).toBe(grypeDocument(facts(), distribution('rocky9')))
    expect(await readdir(join(cache, 'db', 'work', 'grype'))).toEqual([])
  })

  test('loads nothing, checks for no update, and does not see our environment', async () => {
    await scan(await fake(''))
    const environment = await readFile(join(cache, 'env'), 'utf8')
    for (const line of [
      'GRYPE_DB_AUTO_UPDATE=false',
      'GRYPE_CHECK_FOR_APP_UPDATE=false',
      'GRYPE_DB_VALIDATE_AGE=false',
      `GRYPE_DB_CACHE_DIR=${cache}/db`,
      `HOME=${cache}/db/work/grype`,
    ])
      expect(environment).toContain(line)
    expect(environment).not.toContain('VITEST')
  })

  test('without findings is clean if the database knows the distribution, which is checked once', async () => {
    const grype = await fake(KNOWN)
    for (let i = 0; i < 2; i++)
      expect(await scan(grype, 'fedora')).toMatchObject({
        result: 'scanned',
        findings: [],
        coverage: { distro_matched: 'fedora:42' },
      })
    expect((await calls()).filter((call) => call.startsWith('db search'))).toHaveLength(1)
  })

  test('without findings is no_data if the database does not know the distribution', async () => {
    expect(await scan(await fake(UNKNOWN), 'fedora')).toMatchObject({
      result: 'no_data',
      coverage: { distro_matched: null, files_seen: 0 },
    })
  })

  test('without findings is an error if that cannot be checked', async () => {
    expect(await scan(await fake(`"db search"*) echo 'unknown command' >&2; exit 1;;`), 'fedora')).toMatchObject({
      result: 'error',
    })
  })

  test('reports that the database is a month old', async () => {
    const old = `sbom:*) sed s/2026-11-21T/2026-10-21T/ '${cache}/rocky.json';;`
    expect(await scan(await fake(old))).toMatchObject({
      result: 'scanned',
      message: '1 known vulnerability for rockylinux:9, in a database that is 31 days old',
    })
  })

  test.each([
    ['crashes', 'sbom:*) kill -SEGV $$;;', /SIGSEGV/],
    [
      'fails, whatever it wrote',
      `sbom:*) echo '{"matches":[],"descriptor":{"name":"grype"}}'; echo 'failed to load vulnerability db: database does not exist' >&2; exit 1;;`,
      /database does not exist/,
    ],
    ['writes no JSON', 'sbom:*) echo "<html>";;', /no JSON/],
    ['writes half a report', `sbom:*) head -c 300 "\${0%/*}/rocky.json";;`, /no JSON/],
    ['writes nothing', 'sbom:*) exit 0;;', /no JSON/],
    ['writes an empty report', 'sbom:*) echo "{}";;', /without matches/],
    ['writes without end', 'sbom:*) yes;;', /wrote more than/],
  ])('by a program that %s is no pass', async (_, cases, message) => {
    expect(await scan(await fake(cases))).toMatchObject({
      result: 'error',
      findings: [],
      message: expect.stringMatching(message),
    })
  })

  test('is an error when the program is too slow', async () => {
    expect(await scan(await fake('sbom:*) sleep 60;;', 300))).toMatchObject({
      result: 'error',
      message: expect.stringMatching(/did not answer within/),
    })
  })

  test('is an error when the program is missing', async () => {
    const grype = await fake('')
    await rm(join(cache, 'grype'))
    expect(await scan(grype)).toMatchObject({ result: 'error', message: 'there is no program grype here' })
  })
})

describe('its database', () => {
  const VERSION = `version*) echo '{"application":"grype","version":"0.110.0"}';;`
  const status = (built: string) =>
    `"db status"*) echo '{"schemaVersion":"v6.1.4","from":"manual import","built":"${built}","path":"x","valid":true}';;`

  test('is reported with its version and date', async () => {
    const grype = await fake(VERSION + status('2026-11-21T03:00:00Z'))
    expect(await grype.status()).toMatchObject({
      available: true,
      engine: 'grype',
      version: '0.110.0',
      db_version: 'v6.1.4',
      db_date: '2026-11-21T03:00:00.000+00:00',
      error: null,
    })
  })

  test('reports the engine unavailable when it is missing', async () => {
    const grype = await fake(
      `${VERSION}"db status"*) echo '{"built":"0001-01-01T00:00:00Z","error":"database does not exist"}'; echo 'ERROR database does not exist' >&2; exit 1;;`,
    )
    expect(await grype.status()).toMatchObject({
      available: false,
      version: '0.110.0',
      db_date: null,
      error: expect.stringMatching(/does not exist/),
    })
  })

  test('is updated when its date changes, once at a time', async () => {
    const grype = await fake(
      `"db status"*) echo "{\\"built\\":\\"$(cat ${cache}/day 2>/dev/null || echo 2026-11-20T03:00:00Z)\\"}";; "db update"*) echo 2026-11-21T03:00:00Z > ${cache}/day; echo 'loaded' >&2;;`,
    )
    const lines: string[] = []
    const first = grype.update((line) => void lines.push(line))
    await expect(grype.update()).rejects.toMatchObject({ code: 'already_running' })
    expect(await first).toEqual({
      status: 'updated',
      message: 'the database of grype is of 2026-11-21T03:00:00.000+00:00',
    })
    expect(lines).toEqual(['loaded'])
    expect(await grype.update()).toMatchObject({ status: 'up_to_date' })
  })

  test('stays in force when an update fails', async () => {
    const grype = await fake(`${status('2026-11-21T03:00:00Z')}"db update"*) echo 'unable to download' >&2; exit 1;;`)
    expect(await grype.update()).toEqual({ status: 'failed', message: 'grype ended with code 1: unable to download' })
  })
})
