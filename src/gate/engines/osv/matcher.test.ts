import { beforeAll, describe, expect, test } from 'vitest'
import { factsToMatch, type Distribution, type PackageFacts } from '../../../domain/package.ts'
import type { FormatId } from '../../../../test/formats.ts'
import { affects, compareDotted, memoryAdvisories, record } from './advisories.fixture.ts'
import { createOsvMatcher } from './matcher.ts'
import { readRecord } from './record.ts'

const clock = { now: () => new Date('2026-05-01T00:00:00Z') }
const V3 = (score: string) => ({ severity: [{ type: 'CVSS_V3', score }] })
const CRITICAL = V3('CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H')
const LOW = V3('CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N')
const PG16 = '16.6-1.module_el9.5.0+127+50ff03a9'

const RECORDS = [
  // One kernel bug in two advisories, another in one.
  record('ALSA-2', {
    summary: 'Moderate: kernel-rt security update',
    related: ['CVE-2024-0001'],
    affected: [affects('AlmaLinux:9', 'kernel', '7')],
    modified: '2026-04-04T00:00:00Z',
  }),
  record('ALSA-1', {
    summary: 'Important: kernel security update',
    related: ['CVE-2024-0002', 'CVE-2024-0001'],
    details: '* kernel: a leak (CVE-2024-0002)',
    references: [
      { type: 'ADVISORY', url: 'https://a.example/1' },
      { type: 'WEB', url: 'https://access.redhat.com/errata/RHSA-2024:1' },
    ],
    affected: [affects('AlmaLinux:9', 'kernel', '5'), affects('AlmaLinux:8', 'kernel', '50')],
  }),
  record('ALBA-1', { summary: 'kernel bug fix update', affected: [affects('AlmaLinux:9', 'kernel', '9')] }),
  record('ALSA-3', {
    summary: 'Low: kernel update',
    withdrawn: '2026-01-01T00:00:00Z',
    affected: [affects('AlmaLinux:9', 'kernel', '9')],
  }),
  record('ALSA-4', { summary: 'Important: kernel update', affected: [affects('AlmaLinux:9', 'nocve', '9')] }),
  record('ALSA-5', {
    summary: 'Important: postgresql:16 security update',
    related: ['CVE-2024-0016'],
    affected: [affects('AlmaLinux:9', 'postgresql', PG16)],
  }),
  record('RLSA-1', {
    summary: 'Important: perl',
    upstream: ['CVE-2024-0005'],
    affected: [affects('Rocky Linux:9', 'perl', '4:5.26.3-420')],
  }),
  // Debian: a record for each CVE, a notice about several, no fix for one.
  record('DEBIAN-CVE-2024-0003', {
    upstream: ['CVE-2024-0003'],
    ...LOW,
    affected: [affects('Debian:12', 'openssl', '3.0.9')],
  }),
  record('DSA-1-1', {
    summary: 'openssl - security update',
    ...CRITICAL,
    upstream: ['CVE-2024-0003', 'CVE-2024-0004'],
    affected: [affects('Debian:12', 'openssl', '3.0.9')],
  }),
  record('DEBIAN-CVE-2024-0006', {
    affected: [affects('Debian:12', 'openssl', undefined, { ecosystem_specific: { urgency: 'unimportant' } })],
  }),
  record('DEBIAN-CVE-2024-0007', { affected: [affects('Debian:12', 'linux', '6.1.90')] }),
  record('UBUNTU-CVE-2024-0008', {
    affected: [affects('Ubuntu:20.04:LTS', 'bash'), affects('Ubuntu:Pro:20.04:LTS', 'bash', '5.1')],
  }),
  // Three names of one bug, two of another that has no CVE.
  record('GHSA-1', { aliases: ['CVE-2024-0010'], ...CRITICAL, affected: [affects('PyPI', 'django', '2.0')] }),
  record('PYSEC-1', { aliases: ['GHSA-1'], affected: [affects('PyPI', 'Django', '2.0')] }),
  record('PYSEC-2', { aliases: ['GHSA-2'], affected: [affects('PyPI', 'django', '2.1')] }),
  record('GHSA-2', { aliases: ['PYSEC-2'], affected: [affects('PyPI', 'django', '2.1')] }),
  record('GHSA-3', { aliases: ['CVE-2024-0011'], affected: [affects('npm', 'lodash', '4.17.21')] }),
  record('GHSA-4', { aliases: ['CVE-2024-0012'], affected: [affects('Maven', 'org.apache:log4j', '2.17.0')] }),
]

const advisories = memoryAdvisories(clock)
const compare = (_format: string, a: string, b: string) => {
  const split = (version: string) => (version.includes(':') ? version : `0:${version}`)
  return compareDotted('', split(a), split(b))
}
const matcher = createOsvMatcher({ advisories, compare })
beforeAll(async () => {
  const under = await advisories.begin('test')
  await under.put(RECORDS.map((json) => ({ ...readRecord(json, { compare, wanted: () => true }), source: '' })))
  await under.finish({ digest: '', advisories: RECORDS.length, keep: () => true })
})

function distribution(scannerDistro: string): Distribution {
  return {
    codename: 'c',
    format: 'deb',
    architectures: ['amd64'],
    component: null,
    scannerDistro,
    os: 'O',
    osVersion: '1',
    name: 'O 1',
    fullName: 'O 1',
    packageManager: 'p',
  }
}
function facts(format: FormatId, name: string, version: string, source: Partial<PackageFacts> = {}): PackageFacts {
  const known = { format, name, version, arch: 'x', sourcePackage: null, sourceVersion: null }
  return { ...factsToMatch(known), ...source }
}
const scan = (distro: string, ...of: Parameters<typeof facts>) =>
  matcher.scan({ facts: facts(...of), distribution: distribution(distro) })
const idsOf = async (distro: string, ...of: Parameters<typeof facts>) =>
  (await scan(distro, ...of)).findings.map((finding) => finding.id)

describe('a package', () => {
  test('gets one finding for each CVE, worst first, with all that fixes it', async () => {
    const result = await scan('almalinux:9', 'rpm', 'kernel', '4')
    expect(result.result).toBe('scanned')
    expect(result.findings).toEqual([
      {
        id: 'CVE-2024-0002',
        severity: 'High',
        cvss: null,
        description: 'kernel: a leak',
        package_name: 'kernel',
        package_version: '4',
        package_type: 'rpm',
        fix_state: 'fixed',
        fix_versions: ['5'],
        urls: ['https://a.example/1', 'https://access.redhat.com/errata/RHSA-2024:1'],
        epss: null,
        epss_percent: null,
        epss_label: null,
        in_kev: false,
        sources: ['osv'],
        aliases: ['ALSA-1', 'RHSA-2024:1'],
      },
      // The advisory about this CVE alone rates it, not the one about two.
      expect.objectContaining({
        id: 'CVE-2024-0001',
        severity: 'Medium',
        fix_versions: ['5', '7'],
        description: 'Moderate: kernel-rt security update',
      }),
    ])
    expect(result.coverage).toEqual({
      engine: 'osv',
      engine_version: null,
      database_date: '2026-04-04T00:00:00.000+00:00',
      distro_matched: 'AlmaLinux:9',
      files_seen: 1,
      files_skipped: [],
      bytes: 0,
    })
    expect(await scan('almalinux:9', 'rpm', 'kernel', '4')).toEqual(result)
  })

  test('is judged by its own release, by name and by version', async () => {
    expect(await idsOf('almalinux:9', 'rpm', 'kernel', '5')).toEqual(['CVE-2024-0001'])
    expect(await idsOf('almalinux:9', 'rpm', 'kernel', '7')).toEqual([])
    expect(await idsOf('almalinux:8', 'rpm', 'kernel', '7')).toEqual(['CVE-2024-0001', 'CVE-2024-0002'])
    expect(await idsOf('almalinux:9', 'rpm', 'kernel-core', '1')).toEqual([])
  })

  test('of bug-fix notices makes no finding, of a security notice without a CVE one under its id', async () => {
    const input = { facts: facts('rpm', 'kernel', '8'), distribution: distribution('almalinux:9') }
    expect((await matcher.scan(input)).findings).toEqual([])
    expect(await matcher.matchedAdvisories(input)).toEqual(['ALBA-1'])
    expect(await idsOf('almalinux:9', 'rpm', 'nocve', '1')).toEqual(['ALSA-4'])
  })

  test('is found by its source package and the version of that', async () => {
    expect(await idsOf('debian:12', 'deb', 'libssl3', '3.0.8', { sourcePackage: 'openssl' })).toContain('CVE-2024-0003')
    expect(
      await idsOf('debian:12', 'deb', 'libssl3', '3.0.8+b1', { sourcePackage: 'openssl', sourceVersion: '3.0.9' }),
    ).not.toContain('CVE-2024-0003')
    expect(
      await idsOf('debian:12', 'deb', 'linux-image-amd64', '6.1.80', {
        sourcePackage: 'linux-signed-amd64',
        sourceVersion: '6.1.99',
      }),
    ).toEqual(['CVE-2024-0007'])
  })

  test('of rpm is compared without the epoch that source package names lack', async () => {
    const source = (sourceVersion: string) => ({ sourcePackage: 'perl', sourceVersion })
    expect(await idsOf('rockylinux:9', 'rpm', 'perl-libs', '4:5.26.3-420', { sourcePackage: 'perl' })).toEqual([])
    expect(await idsOf('rockylinux:9', 'rpm', 'perl-Errno', '1.28-420', source('5.26.3-420'))).toEqual([])
    expect(await idsOf('rockylinux:9', 'rpm', 'perl-Errno', '1.28-420', source('5.26.3-419'))).toEqual([
      'CVE-2024-0005',
    ])
  })

  test('of a module is not judged by advisories for another stream', async () => {
    expect(await idsOf('almalinux:9', 'rpm', 'postgresql', '16.5-1.module_el9.4.0+1+aa')).toEqual(['CVE-2024-0016'])
    expect(await idsOf('almalinux:9', 'rpm', 'postgresql', '15.9-1.module_el9.4.0+1+aa')).toEqual([])
    expect(await idsOf('almalinux:9', 'rpm', 'postgresql', '15.9-1.el9')).toEqual(['CVE-2024-0016'])
  })

  test.each([
    ['older than the fix of another stream', '15.9-1.module_el9.4.0+1+aa', [{ stream: '16', advisories: 1 }]],
    ['newer than the fix of another stream', '17.1-1.module_el9.4.0+1+aa', undefined],
    ['of the same stream', '16.5-1.module_el9.4.0+1+aa', undefined],
    ['of no module', '15.9-1.el9', undefined],
  ])('%s: advisories for other streams are counted', async (_, version, streams) => {
    const { coverage, message } = await scan('almalinux:9', 'rpm', 'postgresql', version)
    expect(coverage.other_streams).toEqual(streams)
    expect(message.includes('1 for the other module stream 16 not applied')).toBe(streams !== undefined)
  })

  test('is rated by the advisory about the CVE alone', async () => {
    const { findings } = await scan('debian:12', 'deb', 'openssl', '3.0.8')
    expect(findings.map(({ id, severity, cvss, fix_state }) => [id, severity, cvss, fix_state])).toEqual([
      ['CVE-2024-0004', 'Critical', null, 'fixed'],
      ['CVE-2024-0003', 'Low', 3.1, 'fixed'],
      ['CVE-2024-0006', 'Negligible', null, 'not-fixed'],
    ])
  })

  test('has a fix if only the paid updates have it', async () => {
    const { findings } = await scan('ubuntu:20.04', 'deb', 'bash', '5.0')
    expect(findings).toMatchObject([{ id: 'CVE-2024-0008', fix_state: 'fixed', fix_versions: ['5.1'] }])
  })

  test('is cleared of vulnerabilities that its distribution lists only for other versions', async () => {
    const cleared = async (version: string, distro = 'debian:12') =>
      [
        ...(await matcher.clearedOf({
          facts: facts('deb', 'libssl3', version, { sourcePackage: 'openssl' }),
          distribution: distribution(distro),
        })),
      ].sort()
    expect(await cleared('3.0.8')).toEqual([])
    // CVE-2024-0006 has no fix in any version.
    expect(await cleared('3.0.9')).toEqual(['CVE-2024-0003', 'CVE-2024-0004', 'DEBIAN-CVE-2024-0003', 'DSA-1-1'])
    expect(await cleared('3.0.9', 'ubuntu:20.04')).toEqual([])
    expect(await cleared('3.0.9', 'fedora:42')).toEqual([])
  })

  test.each([
    ['fedora:42', /no advisories in OSV format are published/],
    ['oraclelinux:8', /no advisories in OSV format are published/],
    ['alpine:3.20', /no advisories for Alpine:v3.20 have been imported/],
    ['debian:11', /no advisories for Debian:11/],
  ])('of %s is not called free of findings', async (distro, message) => {
    const result = await scan(distro, 'rpm', 'kernel', '1')
    expect(result).toMatchObject({
      result: 'no_data',
      findings: [],
      coverage: { engine: 'osv', distro_matched: null, files_seen: 0 },
    })
    expect(result.message).toMatch(message)
  })
})

test.each<[string, PackageFacts[]]>([
  [
    'almalinux:9',
    [
      facts('rpm', 'kernel', '4'),
      facts('rpm', 'unknown', '1'),
      facts('rpm', 'kernel', '6'),
      facts('rpm', 'nocve', '1'),
    ],
  ],
  [
    'debian:12',
    [
      facts('deb', 'openssl', '3.0.8'),
      facts('deb', 'libssl3', '3.0.8', { sourcePackage: 'openssl' }),
      facts('deb', 'linux-image', '6.1.1', { sourcePackage: 'linux-signed-amd64', sourceVersion: '1' }),
    ],
  ],
  ['fedora:42', [facts('rpm', 'kernel', '4')]],
])('many packages of %s get the findings that each gets alone', async (distro, packages) => {
  const together = await matcher.scanAll(packages, distribution(distro))
  for (const [index, one] of packages.entries())
    expect(together[index]).toEqual(await matcher.scan({ facts: one, distribution: distribution(distro) }))
  expect(together).toHaveLength(packages.length)
})

test('components are matched by their own version orders, and aliases are merged', async () => {
  const result = await matcher.matchComponents([
    { ecosystem: 'npm', name: 'lodash', version: '4.17.20' },
    { ecosystem: 'npm', name: 'lodash', version: '4.17.21' },
    { ecosystem: 'PyPI', name: 'Django', version: '1.11' },
    { ecosystem: 'PyPI', name: 'django', version: '2.0' },
    { ecosystem: 'Maven', name: 'org.apache:log4j', version: '2.17.0-rc1' },
    { ecosystem: 'npm', name: 'unknown', version: 'not a version' },
  ])
  expect(result.map((one) => one.findings.map((finding) => finding.id))).toEqual([
    ['CVE-2024-0011'],
    [],
    ['CVE-2024-0010', 'GHSA-2'],
    ['GHSA-2'],
    ['CVE-2024-0012'],
    [],
  ])
  expect(result[2]!.findings.map(({ aliases }) => aliases)).toEqual([['GHSA-1', 'PYSEC-1'], ['PYSEC-2']])
  expect(result[2]!.findings[0]).toMatchObject({ severity: 'Critical', package_type: 'pypi', fix_versions: ['2.0'] })
  expect(result.every((one) => one.result === 'scanned')).toBe(true)
  const [none] = await createOsvMatcher({ advisories: memoryAdvisories(clock), compare }).matchComponents([
    { ecosystem: 'npm', name: 'x', version: '1.0.0' },
  ])
  expect(none).toMatchObject({ result: 'no_data', findings: [] })
})
