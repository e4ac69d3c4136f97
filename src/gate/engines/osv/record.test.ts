import { describe, expect, test } from 'vitest'
import { affects, compareDotted, record } from './advisories.fixture.ts'
import { parseJson } from '../../../domain/json.ts'
import { readRecord } from './record.ts'

const read = (json: unknown, wanted: (ecosystem: string) => boolean = () => true) =>
  readRecord(json, { compare: compareDotted, wanted })

describe('the CVEs of a record', () => {
  test.each([
    ['its own id', record('CVE-2024-1234'), ['CVE-2024-1234']],
    ['the id of a distribution', record('DEBIAN-CVE-2024-1234'), ['CVE-2024-1234']],
    [
      'aliases',
      record('GHSA-x', { aliases: ['CVE-2024-0002', 'PYSEC-1', 'CVE-2024-0001'], related: ['CVE-2020-9999'] }),
      ['CVE-2024-0001', 'CVE-2024-0002'],
    ],
    ['upstream', record('DSA-1', { upstream: ['CVE-2024-0001'], related: ['CVE-2020-9999'] }), ['CVE-2024-0001']],
    [
      'related, where nothing else names one',
      record('ALSA-1', { related: ['CVE-2024-0002', 'CVE-2024-0001', 'CVE-2024-0001'] }),
      ['CVE-2024-0001', 'CVE-2024-0002'],
    ],
    ['no CVE', record('GHSA-x', { aliases: ['PYSEC-1'] }), []],
  ])('%s', (_where, json, cves) => expect(read(json).advisory.cves).toEqual(cves))
})

test('a withdrawn advisory affects nothing', () => {
  const { advisory, affected } = read(
    record('X-1', { withdrawn: '2026-02-01T00:00:00Z', affected: [affects('npm', 'x', '1.0.0')] }),
  )
  expect(advisory.withdrawn).toBe('2026-02-01T00:00:00.000Z')
  expect(affected).toEqual([])
})

test('a bug-fix notice is no vulnerability, unless it names a CVE', () => {
  const security = (id: string, more: object = {}) => read(record(id, more)).advisory.security
  for (const id of [
    'ALBA-2021:1',
    'ALEA-2021:1',
    'RLBA-2021:1',
    'RHEA-2021:1',
    'SUSE-RU-2024:1-1',
    'openSUSE-FU-2024:1-1',
  ])
    expect(security(id), id).toBe(false)
  expect(security('ALBA-2021:1', { related: ['CVE-2024-0001'] })).toBe(true)
  for (const id of ['ALSA-2021:1', 'GHSA-x', 'DSA-1-1']) expect(security(id), id).toBe(true)
})

test('only wanted and known ecosystems are kept, Python names in their normal form', () => {
  const affected = [
    affects('npm', 'x', '1.0.0'),
    affects('PyPI', 'My.Pkg', '1.0'),
    affects('crates.io', 'y', '1.0.0'),
    affects('Debian:12', 'z', '1-1'),
  ]
  const kept = read(record('X-1', { affected }), (ecosystem) => ecosystem !== 'Debian:12').affected
  expect(kept.map((entry) => `${entry.ecosystem} ${entry.package}`).sort()).toEqual(['PyPI my-pkg', 'npm x'])
})

test('listed versions are kept if no range covers them; Git ranges are ignored', () => {
  const entry = affects('Debian:12', 'x', '5', { versions: ['1', '4', '9'] })
  expect(read(record('X-1', { affected: [entry] })).affected[0]!.versions).toEqual(['9'])
  const git = {
    package: { ecosystem: 'Debian:12', name: 'x' },
    ranges: [{ type: 'GIT', events: [{ introduced: '0' }] }],
  }
  expect(read(record('X-1', { affected: [git] })).affected).toEqual([])
  expect(read(record('X-1', { affected: [{ ...git, versions: ['1'] }] })).affected[0]).toMatchObject({
    ranges: [],
    versions: ['1'],
  })
})

test('several builds of one fix count from the lowest; other upstream versions are kept', () => {
  const fixed = ['3.15-3.module_el8.6.0+3137+d33c3efb', '3.15-3.module_el8.6.0+2877+8e437bf5', '4.0-1.el8']
  const { affected } = read(
    record('ALSA-1', { affected: fixed.map((version) => affects('AlmaLinux:8', 'criu', version)) }),
  )
  expect(affected.map((entry) => entry.ranges[0]!.events[1]!.fixed).sort()).toEqual([fixed[1], fixed[2]])
})

test('the stream of a modular package is kept if its versions show it', () => {
  const streams = (summary: string, name: string, fixed: string) =>
    read(record('ALSA-1', { summary, affected: [affects('AlmaLinux:9', name, fixed)] })).affected[0]!.stream
  expect(streams('Important: postgresql:16 security update', 'postgresql', '16.6-1.module_el9.5.0+127+50ff03a9')).toBe(
    '16',
  )
  expect(streams('Important: nodejs:1 security update', 'nodejs', '1:16.6-1.module_el9.5.0+127+50ff03a9')).toBeNull()
  expect(
    streams('Important: postgresql:16 security update', 'pg_repack', '1.5.1-1.module_el9.5.0+127+50ff03a9'),
  ).toBeNull()
  expect(streams('Important: postgresql:16 security update', 'postgresql', '16.6-1.el9')).toBeNull()
})

test('an entry keeps its own rating only if it differs', () => {
  const vector = (score: string) => ({ severity: [{ type: 'CVSS_V3', score }] })
  const high = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N'
  const low = 'CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N'
  const { advisory, affected } = read(
    record('X-1', {
      ...vector(high),
      affected: [affects('npm', 'a', '1.0.0', vector(low)), affects('npm', 'b', '1.0.0', vector(high))],
    }),
  )
  expect(advisory).toMatchObject({ severity: 'High', cvss: 7.5 })
  expect(affected.map(({ severity, cvss }) => [severity, cvss])).toEqual([
    ['Low', 3.1],
    [null, null],
  ])
})

test('sentences about single CVEs are found in the details', () => {
  const details =
    'Security Fix(es):\n\n* kernel: a leak (CVE-2024-0001)\n  * kernel: two bugs (CVE-2024-0002, CVE-2024-0003)\n* other (CVE-2020-9999)\ntext (CVE-2024-0001)'
  const { notes } = read(
    record('ALSA-1', { related: ['CVE-2024-0001', 'CVE-2024-0002', 'CVE-2024-0003'], details }),
  ).advisory
  expect(notes).toEqual({
    'CVE-2024-0001': 'kernel: a leak',
    'CVE-2024-0002': 'kernel: two bugs',
    'CVE-2024-0003': 'kernel: two bugs',
  })
})

test('links: the own advisory first, at most three, web addresses only', () => {
  const references = [
    { type: 'REPORT', url: 'https://bugs.example/1' },
    { type: 'WEB', url: 'javascript:alert(1)' },
    { type: 'WEB', url: 'https://b.example' },
    { type: 'ADVISORY', url: 'https://advisory.example/1' },
    { type: 'WEB', url: 'https://c.example' },
  ]
  expect(read(record('X-1', { references })).advisory.urls).toEqual([
    'https://advisory.example/1',
    'https://bugs.example/1',
    'https://b.example',
  ])
})

test('the digest follows content, not dates and not order', () => {
  const of = (more: object) =>
    read(record('X-1', { affected: [affects('npm', 'a', '1.0.0'), affects('npm', 'b', '1.0.0')], ...more })).digest
  expect(of({ modified: '2026-03-03T00:00:00Z' })).toBe(of({}))
  expect(of({ affected: [affects('npm', 'b', '1.0.0'), affects('npm', 'a', '1.0.0')] })).toBe(of({}))
  expect(of({ summary: 'new' })).not.toBe(of({}))
  expect(of({ affected: [affects('npm', 'a', '1.0.1'), affects('npm', 'b', '1.0.0')] })).not.toBe(of({}))
})

describe('a malformed record', () => {
  test.each([
    [null],
    ['text'],
    [[]],
    [{}],
    [{ id: 'X-1' }],
    [{ id: 'X-1', modified: 'yesterday' }],
    [{ id: 3, modified: '2026-01-01T00:00:00Z' }],
  ])('%j', (json) => {
    expect(() => read(json)).toThrow()
  })
  const affecting = (more: object) => ({ affected: [{ package: { ecosystem: 'npm', name: 'a' }, ...more }] })
  const events = (...list: unknown[]) => affecting({ ranges: [{ type: 'SEMVER', events: list }] })
  test.each([
    ['affected is an object', { affected: {} }],
    ['affected holds null', { affected: [null] }],
    ['package is a number', { affected: [{ package: 3 }] }],
    ['package has no name', { affected: [{ package: { ecosystem: 'npm' } }] }],
    ['the ecosystem is a list', { affected: [{ package: { ecosystem: ['npm'], name: 'a' } }] }],
    ['ranges is an object (ELA-669-1)', affecting({ ranges: { type: 'SEMVER', events: [{ introduced: '0' }] } })],
    ['ranges is a text', affecting({ ranges: '< 1.0' })],
    ['a range is a text', affecting({ ranges: ['< 1.0'] })],
    ['a range has an unknown type', affecting({ ranges: [{ type: 'OTHER', events: [{ introduced: '0' }] }] })],
    ['events is an object', affecting({ ranges: [{ type: 'SEMVER', events: { introduced: '0' } }] })],
    ['a range has no events', affecting({ ranges: [{ type: 'SEMVER' }] })],
    ['an event is a text', events('introduced')],
    ['a version is a number', events({ introduced: '0' }, { fixed: 3 })],
    ['a version is empty', events({ introduced: '0' }, { fixed: '' })],
    ['versions is an object', affecting({ versions: { a: '1' } })],
    ['versions holds a number', affecting({ versions: [1] })],
    ['aliases is a text', { aliases: 'CVE-2024-1' }],
    ['upstream is an object', { upstream: {} }],
    ['aliases holds a number', { aliases: [3] }],
  ])('%s: the record is refused as a whole', (_, more) => {
    expect(() => read(record('X-1', more))).toThrow()
  })
  test.each([
    ['no affected', {}],
    ['null in place of lists', { affected: null, aliases: null, references: null }],
    ['an entry about a repository', { affected: [{ ranges: [{ type: 'GIT', events: [{ introduced: '0' }] }] }] }],
    ['ranges of commits', affecting({ ranges: [{ type: 'GIT', repo: 'x', events: [{ introduced: '0' }] }] })],
    ['references that are no list', { references: {} }],
  ])('%s: the record affects nothing', (_, more) => {
    expect(read(record('X-1', more)).affected).toEqual([])
  })
  test('text that PostgreSQL cannot hold', () => {
    expect(parseJson('{"a":"x\\u0000y\\ud800z \\ud83d\\ude00 \\\\u0000"}')).toEqual({ a: 'xy\ufffdz 😀 \\u0000' })
  })
})
