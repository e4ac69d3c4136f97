// The real trivy with its adapter: every distribution has a finding below the fixed version and none at it, packages that
// trivy cannot match are no_data, and databases are downloaded from a registry.
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { factsToMatch, type Distribution, type PackageFacts } from '../../src/domain/package.ts'
import { findDistribution, formats } from '../../src/formats/index.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { readBuckets } from '../../src/gate/engines/trivy/buckets.ts'
import { trivyDistro } from '../../src/gate/engines/trivy/document.ts'
import { createTrivy } from '../../src/gate/engines/trivy/trivy.ts'
import {
  makeDatabase,
  startRegistry,
  trivyTools,
  type Registry,
  type TrivyAdvisory,
  type TrivyTools,
} from './trivy-database.ts'

const OFFERED = formats.flatMap(({ distributions }) => distributions)
/** Distributions for which trivy has no advisories. */
const NEVER = ['fedora']
const MATCHED = OFFERED.filter(({ codename }) => !NEVER.includes(codename))
const named = (codename: string) => findDistribution(codename)!.distribution

let tools: TrivyTools
let base: string
let cache: string
let registry: Registry
let made = 0

const version = ({ format }: Distribution, number: number) => (format === 'apk' ? `${number}.0-r1` : `${number}.0-1`)
const about = (distribution: Distribution, more: Partial<PackageFacts> = {}) =>
  factsToMatch({
    format: distribution.format,
    name: 'high',
    version: version(distribution, 1),
    arch: distribution.architectures[0]!,
    sourcePackage: null,
    sourceVersion: null,
    ...more,
  })

/** A vulnerability in `high` before 2.0, as trivy's database has it for the distribution. */
function advisoryFor(distribution: Distribution, more: Partial<TrivyAdvisory> = {}): TrivyAdvisory {
  const { family, version: release } = trivyDistro(distribution)
  const common = {
    release,
    package: 'high',
    fixed: version(distribution, 2),
    severity: 'HIGH' as const,
    arches: ['x86_64'],
    urls: ['https://example.org/CVE-2026-3001'],
    title: 'a vulnerability in high',
  }
  if (family === 'centos')
    return { ...common, id: 'RHSA-2026:3001', family: 'redhat', cves: ['CVE-2026-3001'], ...more }
  if (family.startsWith('opensuse'))
    return {
      ...common,
      id: 'openSUSE-SU-2026:3001-1',
      family,
      urls: ['https://www.suse.com/security/cve/CVE-2026-3001/'],
      ...more,
    }
  return {
    ...common,
    id: 'CVE-2026-3001',
    family,
    score: 7.5,
    vector: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N',
    ...more,
  }
}

const engine = (cacheDirectory = cache) =>
  createTrivy({
    program: tools.trivy,
    cacheDirectory,
    environment: { PATH: process.env['PATH']!, TRIVY_DB_REPOSITORY: registry.name },
    clock: systemClock,
    againAfterMs: 10,
  })
const scan = (distribution: Distribution, more: Partial<PackageFacts> = {}) =>
  engine().scan({ facts: about(distribution, more), distribution })
const database = () => join(cache, 'trivy', 'db')

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'gate-trivy-engine-'))
  tools = await trivyTools()
  registry = await startRegistry()
  cache = join(base, 'all')
  await makeDatabase(tools, database(), [
    ...MATCHED.map((distribution) => advisoryFor(distribution)),
    advisoryFor(named('rocky9'), { package: 'with-epoch', fixed: '1:2.0-1' }),
    advisoryFor(named('jammy'), { package: 'the-source', id: 'CVE-2026-3002' }),
    advisoryFor(named('alpine3.21'), { package: 'the-source', id: 'CVE-2026-3002' }),
    advisoryFor(named('centos-stream9'), {
      id: 'CVE-2026-3003',
      cves: [],
      fixed: '',
      status: 'will_not_fix',
      package: 'forsaken',
      severity: 'LOW',
    }),
  ])
}, 3_600_000)
afterAll(async () => {
  registry?.close()
  await rm(base, { recursive: true, force: true })
})

describe.each(MATCHED)('$codename', (distribution) => {
  const { family, version: release } = trivyDistro(distribution)
  const coverage = { engine: 'trivy', engine_version: '0.68.2', distro_matched: `${family}/${release}`, files_seen: 1 }

  it('finds the vulnerability below the fixed version and not at it', async () => {
    const below = await scan(distribution)
    expect(below).toMatchObject({
      result: 'scanned',
      findings: [
        {
          id: 'CVE-2026-3001',
          severity: 'High',
          fix_state: 'fixed',
          fix_versions: [version(distribution, 2)],
          description: 'a vulnerability in high',
          sources: ['trivy'],
        },
      ],
      coverage,
    })
    expect(Date.parse(below.coverage.database_date!)).toBeGreaterThan(Date.now() - 3_600_000)
    expect(await scan(distribution, { version: version(distribution, 2) })).toMatchObject({
      result: 'scanned',
      findings: [],
      coverage,
    })
  })

  it('finds it in a package without an architecture, like those of the self-test', async () => {
    expect(await scan(distribution, { arch: '' })).toMatchObject({ findings: [{ id: 'CVE-2026-3001' }] })
  })

  it('is no_data when the database has only other distributions', async () => {
    const others = join(base, `without-${distribution.codename}`)
    await makeDatabase(
      tools,
      join(others, 'trivy', 'db'),
      MATCHED.filter(({ codename }) => codename !== distribution.codename).map((other) => advisoryFor(other)),
    )
    const result = await engine(others).scan({ facts: about(distribution), distribution })
    // Trivy looks up Red Hat's advisories by repository and fails when there is none.
    expect(result.result).toBe(distribution.codename === 'centos-stream9' ? 'error' : 'no_data')
    expect(result.coverage.distro_matched).toBe(null)
  })
})

it.each(NEVER)('%s is no_data', async (codename) => {
  expect(await scan(named(codename))).toMatchObject({
    result: 'no_data',
    findings: [],
    coverage: { engine_version: '0.68.2', distro_matched: null },
  })
})

describe('the result of trivy for', () => {
  it.each<[string, string, Partial<PackageFacts>, string, string[]]>([
    [
      'a package whose source has another version',
      'jammy',
      { name: 'part', version: '9.0-1', sourcePackage: 'the-source', sourceVersion: '1.0-1' },
      'scanned',
      ['CVE-2026-3002'],
    ],
    [
      'a package whose source is fixed',
      'jammy',
      { name: 'part', version: '9.0-1', sourcePackage: 'the-source', sourceVersion: '2.0-1' },
      'scanned',
      [],
    ],
    [
      'a package with a vulnerable origin',
      'alpine3.21',
      { name: 'part', sourcePackage: 'the-source' },
      'scanned',
      ['CVE-2026-3002'],
    ],
    ['a Debian version with a tilde, below the fix', 'jammy', { version: '2.0~rc1-1' }, 'scanned', ['CVE-2026-3001']],
    ['a Debian version with an epoch, above the fix', 'jammy', { version: '1:1.0-1' }, 'scanned', []],
    [
      'a version without the epoch that the fix has',
      'rocky9',
      { name: 'with-epoch', version: '3.0-1' },
      'scanned',
      ['CVE-2026-3001'],
    ],
    ['an epoch, below the fix', 'rocky9', { name: 'with-epoch', version: '1:1.0-1' }, 'scanned', ['CVE-2026-3001']],
    ['an epoch, at the fix', 'rocky9', { name: 'with-epoch', version: '1:2.0-1' }, 'scanned', []],
    ['a vulnerability that will not be fixed', 'centos-stream9', { name: 'forsaken' }, 'scanned', ['CVE-2026-3003']],
    ['an invalid version on Ubuntu', 'jammy', { version: 'of-letters' }, 'no_data', []],
    ['an invalid version on Debian', 'bookworm', { version: 'of-letters' }, 'no_data', []],
    ['an invalid version on Alpine', 'alpine3.21', { version: 'of-letters' }, 'no_data', []],
    ['a module of AlmaLinux, which trivy skips', 'almalinux8', { version: '1.0-1.module_el8.6.0+1+a' }, 'no_data', []],
    [
      'a module of Rocky Linux, which the database lacks',
      'rocky8',
      { name: 'other', version: '1.0-1.module+el8.9.0+1+a' },
      'no_data',
      [],
    ],
    ['a package of a vendor that trivy skips', 'centos-stream9', { version: '1.0-1.remi' }, 'no_data', []],
  ])('%s', async (_, codename, more, outcome, ids) => {
    const result = await scan(named(codename), more)
    expect([result.result, result.findings.map(({ id }) => id)]).toEqual([outcome, ids])
    expect(await readdir(join(cache, 'work', 'trivy'))).toEqual([])
  })
})

it('the nested buckets of a database are read', async () => {
  const releases = Array.from({ length: 400 }, (_, number) => `3.${number}`)
  await makeDatabase(
    tools,
    join(base, 'many'),
    releases.map((release) => ({ ...advisoryFor(named('alpine3.21')), release })),
  )
  const names = await readBuckets(join(base, 'many', 'trivy.db'))
  expect(releases.filter((release) => !names.has(`alpine ${release}`))).toEqual([])
  expect(names.size).toBe(402)
})

describe('a broken database', () => {
  const jammy = named('jammy')
  beforeEach(async () => {
    cache = join(base, `broken-${made++}`)
    await makeDatabase(
      tools,
      database(),
      MATCHED.map((distribution) => advisoryFor(distribution)),
    )
  })

  it.each<[string, () => Promise<unknown>]>([
    ['is missing', () => rm(database(), { recursive: true })],
    ['has no metadata', () => rm(join(database(), 'metadata.json'))],
    ['contains text', () => writeFile(join(database(), 'trivy.db'), 'this is no database')],
    ['is empty', () => writeFile(join(database(), 'trivy.db'), '')],
    [
      'is truncated',
      async () =>
        writeFile(join(database(), 'trivy.db'), (await readFile(join(database(), 'trivy.db'))).subarray(0, 20_000)),
    ],
    [
      'is damaged in the middle',
      async () =>
        writeFile(join(database(), 'trivy.db'), (await readFile(join(database(), 'trivy.db'))).fill(0xff, 8192)),
    ],
    [
      'has another schema version',
      async () =>
        writeFile(
          join(database(), 'metadata.json'),
          (await readFile(join(database(), 'metadata.json'), 'utf8')).replace('"Version":2', '"Version":1'),
        ),
    ],
  ])('that %s makes every scan an error', async (_, spoil) => {
    await spoil()
    const result = await scan(jammy, { version: '2.0-1' })
    expect(result).toMatchObject({ result: 'error', findings: [] })
    expect(result.message).not.toMatch(/\.go:\d/)
  })

  it('is replaced by a downloaded one', async () => {
    await makeDatabase(tools, join(base, 'offered'), [advisoryFor(jammy)])
    await registry.offer(join(base, 'offered'))
    const trivy = engine()
    await writeFile(join(database(), 'trivy.db'), 'this is no database')
    expect(await trivy.status()).toMatchObject({
      available: false,
      version: '0.68.2',
      error: 'the database of trivy cannot be read',
    })
    expect(await trivy.update()).toMatchObject({ status: expect.stringMatching(/^up/) })
    expect(await trivy.scan({ facts: about(jammy), distribution: jammy })).toMatchObject({
      result: 'scanned',
      findings: [{ id: 'CVE-2026-3001' }],
    })
  })
})

describe('an update', () => {
  const jammy = named('jammy')
  const old = new Date('2026-01-01T00:00:00Z')
  beforeEach(async () => {
    cache = join(base, `updated-${made++}`)
    await makeDatabase(tools, database(), [advisoryFor(jammy)], old)
  })

  it('downloads the first database and shows it in the status', async () => {
    cache = join(base, `updated-${made++}`)
    await makeDatabase(tools, join(base, 'offered'), [advisoryFor(jammy)])
    await registry.offer(join(base, 'offered'))
    const trivy = engine()
    expect(await trivy.status()).toMatchObject({
      available: false,
      version: '0.68.2',
      error: 'trivy has no database yet',
    })
    const lines: string[] = []
    expect(await trivy.update((line) => void lines.push(line))).toMatchObject({ status: 'updated' })
    expect(lines.join('\n')).toContain('Downloading')
    const status = await trivy.status()
    expect(status).toMatchObject({ available: true, version: '0.68.2', db_version: '2', error: null })
    for (const at of [status.db_date, status.db_updated_at])
      expect(Date.parse(at!)).toBeGreaterThan(Date.now() - 3_600_000)
    expect(await trivy.update()).toEqual({ status: 'up_to_date', message: 'there is no newer database' })
  })

  it('to a newer database applies to the next scan and leaves no other files', async () => {
    await makeDatabase(tools, join(base, 'offered'), [
      advisoryFor(jammy),
      advisoryFor(jammy, { package: 'newly', id: 'CVE-2026-3009' }),
    ])
    await registry.offer(join(base, 'offered'))
    const trivy = engine()
    const newly = () => trivy.scan({ facts: about(jammy, { name: 'newly' }), distribution: jammy })
    expect(await newly()).toMatchObject({
      result: 'scanned',
      findings: [],
      message: expect.stringMatching(/days old$/),
    })
    expect(await trivy.update()).toMatchObject({ status: 'updated' })
    expect(await newly()).toMatchObject({ result: 'scanned', findings: [{ id: 'CVE-2026-3009' }] })
    expect(await readdir(cache)).toEqual(['trivy', 'work'])
    expect(await readdir(database())).toEqual(['metadata.json', 'trivy.db'])
  })

  it.each<[string, () => Promise<void>]>([
    ['without a registry', () => registry.offer(null)],
    [
      'to a file that is not a database',
      async () => {
        await rm(join(base, 'forged'), { recursive: true, force: true })
        await mkdir(join(base, 'forged'))
        await writeFile(join(base, 'forged', 'trivy.db'), 'this is no database')
        await copyFile(join(database(), 'metadata.json'), join(base, 'forged', 'metadata.json'))
        await registry.offer(join(base, 'forged'))
      },
    ],
  ])('%s fails and keeps the database', async (_, prepare) => {
    await prepare()
    expect(await engine().update()).toMatchObject({ status: 'failed', message: expect.stringContaining('trivy') })
    expect(await scan(jammy)).toMatchObject({ result: 'scanned', findings: [{ id: 'CVE-2026-3001' }] })
  })

  it('does not disturb scans that run meanwhile', async () => {
    await makeDatabase(tools, join(base, 'offered'), [advisoryFor(jammy)])
    await registry.offer(join(base, 'offered'))
    const trivy = engine()
    let over = false as boolean
    const updated = trivy.update().finally(() => (over = true))
    const results: string[] = []
    while (!over || results.length < 3)
      results.push((await trivy.scan({ facts: about(jammy), distribution: jammy })).result)
    expect(await updated).toMatchObject({ status: 'updated' })
    expect([...new Set(results)]).toEqual(['scanned'])
  })
})
