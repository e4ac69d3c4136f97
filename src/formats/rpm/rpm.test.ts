import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { conformance, type ConformanceSample } from '../../../test/conformance.ts'
import { compressSample, zstdFrame, zstdRepeated } from '../../../test/samples/compress.ts'
import { buildCpio, cpioEntry } from '../../../test/samples/cpio.ts'
import { within } from '../../../test/within.ts'
import {
  assembleRpm,
  bin,
  buildRpm,
  digest,
  i18n,
  int32,
  numbers,
  renderHeader,
  string,
  strings,
  type SampleRpm,
} from '../../../test/samples/rpm.ts'
import { isProblem } from '../../domain/problem.ts'
import type { PackageFacts } from '../../domain/package.ts'
import { rpmFormat } from './index.ts'
import type { RpmRecord } from './read.ts'

const everything: SampleRpm = {
  name: 'everything',
  epoch: 2,
  version: '1.0~rc1',
  release: '3.el9',
  requires: [
    'liba >= 1:2-3',
    { text: 'shadow', flags: 1 << 9 },
    { text: '/bin/sh', flags: (1 << 10) | (1 << 12) },
    '(b or c >= 2)',
    '(d and e)',
    '(f if g)',
  ],
  recommends: ['r'],
  suggests: ['s'],
  supplements: ['t'],
  enhances: ['u'],
  conflicts: ['v < 2'],
  obsoletes: ['w <= 1'],
  provides: ['virtual', 'versioned = 7'],
  files: [
    { path: '/usr/bin/everything', content: '#!/bin/sh\n', mode: 0o100755 },
    { path: '/etc/everything', kind: 'directory' },
    { path: '/etc/everything/conf', content: 'a=1\n' },
    { path: '/usr/lib/sendmail', kind: 'link', content: '../bin/everything' },
    { path: '/usr/share/everything/data', content: 'data' },
    { path: '/var/lib/everything/db', kind: 'ghost' },
  ],
  changelogs: [{ time: 1_700_000_000, author: 'A <a@example.org> - 1.0-1', text: '- made' }],
  tags: { 1023: string('echo pre'), 1086: string('/sbin/ldconfig'), 1065: strings('echo one', 'echo two') },
}

const good: Record<string, SampleRpm> = {
  plain: {},
  everything,
  xz: { compression: 'xz' },
  lzma: { compression: 'lzma' },
  zstd: { compression: 'zst' },
  uncompressed: { compression: 'none' },
  stripped: { stripped: true, files: everything.files! },
  'no files': { files: [], arch: 'noarch' },
  'format 6': { v6: true, files: everything.files! },
}

async function hostileSamples(): Promise<ConformanceSample[]> {
  const plain = await buildRpm()
  const changed = (at: number, value: number) => {
    const bytes = Buffer.from(plain)
    bytes[at] = value
    return bytes
  }
  const headers = (signature: Buffer, header: Buffer) => assembleRpm({ signature, header, payload: Buffer.alloc(0) })
  const empty = renderHeader(62, { 1000: int32(1) })
  const index = (...entries: number[][]) =>
    headers(
      empty,
      Buffer.concat([
        Buffer.from('8eade80100000000', 'hex'),
        numbers(entries.length, 64),
        ...entries.map((entry) => numbers(...entry)),
        Buffer.alloc(48),
        numbers(63, 7, -16 * entries.length, 16),
      ]),
    )
  const region = [63, 7, 48, 16]
  const bytes: Record<string, Uint8Array> = {
    'a lead alone': plain.subarray(0, 96),
    'a lead of version 9': changed(4, 9),
    'a lead of a source package': changed(7, 1),
    'a lead of another kind': changed(7, 2),
    'a lead without signature header': changed(79, 1),
    'no signature header': Buffer.concat([plain.subarray(0, 96), Buffer.alloc(500)]),
    'a header of four billion entries': headers(Buffer.concat([empty.subarray(0, 8), numbers(-1, 0)]), empty),
    'a header of four billion bytes': headers(Buffer.concat([empty.subarray(0, 8), numbers(1, -1)]), empty),
    'a header without entries': headers(empty, Buffer.concat([empty.subarray(0, 8), numbers(0, 0)])),
    'a main header without region': headers(empty, renderHeader(null, { 1000: string('x') })),
    'a region of signatures in the main header': headers(empty, renderHeader(62, { 1000: string('x') })),
    'a region outside the data': index([63, 7, 64, 16]),
    'a region of another size': index([63, 7, 48, 17]),
    'a type that does not exist': index(region, [1000, 10, 0, 1]),
    'no type': index(region, [1000, 0, 0, 1]),
    'an offset that is not aligned': index(region, [1000, 4, 2, 1]),
    'a negative offset': index(region, [1000, 4, -4, 1]),
    'no items': index(region, [1000, 4, 0, 0]),
    'more items than data': index(region, [1000, 4, 0, 1 << 30]),
    'data in the trailer': index(region, [1000, 4, 48, 1]),
    'data that overlap': index(region, [1000, 4, 0, 2], [1001, 4, 4, 1]),
    'a text twice in one': index(region, [1000, 6, 0, 2]),
    'more texts than NULs': index(region, [1000, 8, 0, 1 << 20]),
    'a tag twice': index(region, [1000, 4, 0, 1], [1000, 4, 4, 1]),
    'a tag below 100': index(region, [61, 4, 0, 1]),
    'entries outside the region': headers(
      empty,
      Buffer.concat([
        Buffer.from('8eade80100000000', 'hex'),
        numbers(2, 24, 63, 7, 8, 16, 1000, 6, 0, 1),
        Buffer.alloc(8),
        numbers(63, 7, -16, 16),
      ]),
    ),
  }
  const payload = (...entries: Parameters<typeof buildCpio>[0][number][]): SampleRpm => ({
    payload: buildCpio(entries),
    compression: 'none',
  })
  // A file of 500 MiB whose zeros are compressed a thousandfold.
  const bomb = Buffer.concat([
    zstdFrame(cpioEntry({ name: './usr/share/sample/readme', size: 500 * 1024 ** 2 })),
    zstdRepeated(0, 4000),
  ])
  const built: Record<string, SampleRpm> = {
    'a wrong SHA-256 of the header': { signatureTags: { 273: string('0'.repeat(64)) } },
    'a wrong SHA-1 of the header': { signatureTags: { 269: string('0'.repeat(40)) } },
    'a wrong MD5': { signatureTags: { 1004: bin(Buffer.alloc(16)) } },
    'a wrong size': { signatureTags: { 1000: int32(12) } },
    'a wrong digest of the payload': { tags: { 5092: strings('0'.repeat(64)) } },
    'a wrong digest of the plain payload': { tags: { 5097: strings('0'.repeat(64)) } },
    'a digest of an unknown kind': { tags: { 5093: int32(99) } },
    'rpm format 7': { tags: { 5114: int32(7) } },
    'a source package': { tags: { 1106: int32(1) } },
    'no source': { tags: { 1044: null } },
    'no name': { tags: { 1000: null } },
    'an empty name': { tags: { 1000: string('') } },
    'a name that is a number': { tags: { 1000: int32(1) } },
    'a name with a slash': { tags: { 1000: string('../x') } },
    'a name with a macro': { tags: { 1000: string('%{name}') } },
    'a name with a blank': { tags: { 1000: string('a b') } },
    'no version': { tags: { 1001: null } },
    'a version with a dash': { version: '1-2' },
    'a version with a slash': { version: '1/../../x' },
    'a release with a colon': { release: '1:2' },
    'no architecture': { tags: { 1022: null } },
    'an architecture with a slash': { tags: { 1022: string('../x') } },
    'a name too long for a file': { name: 'a'.repeat(250) },
    'a text of two megabytes': { tags: { 1005: i18n('x'.repeat(2 * 1024 ** 2)) } },
    'fewer flags than names': { requires: ['a'], tags: { 1048: int32(0) } },
    'fewer versions than names': { requires: ['a', 'b'], tags: { 1050: strings('') } },
    'an endless list of dependencies': { tags: { 1049: strings(...Array.from({ length: 100_001 }, () => 'a')) } },
    'ten thousand boolean dependencies': { requires: Array.from({ length: 10_000 }, () => '(a or b)') },
    'a dependency with a control character': { requires: ['a\x01'] },
    'a boolean dependency without an end': { requires: ['(a or b'] },
    'a boolean dependency a hundred deep': { requires: [`${'('.repeat(100)}a${')'.repeat(100)}`] },
    'fewer directories than needed': { tags: { 1118: strings('/usr/') } },
    'fewer directory indexes than files': { tags: { 1116: null } },
    'no file modes': { tags: { 1030: null } },
    'a path that escapes': { files: [{ path: '/usr/../../etc/passwd', content: 'x' }] },
    'a path that is relative': {
      files: [],
      tags: { 1027: strings('usr/x'), 1030: { type: 'int16', values: [0o100644] } },
    },
    'a line feed in a path': { files: [{ path: '/usr/a\nb' }] },
    'a control character in a path': { files: [{ path: '/usr/a\x1bb' }] },
    'fewer changelog texts than times': { changelogs: everything.changelogs!, tags: { 1082: null } },
    'a drpm': { tags: { 1124: string('drpm') } },
    'an unknown compression': { compressor: 'brotli' },
    'a payload of nothing': { payload: Buffer.alloc(0) },
    'a payload of another compression': { payload: await compressSample(buildCpio([]), 'xz'), compressor: 'zstd' },
    'a payload that is no archive': { payload: Buffer.from('hello'), compression: 'none' },
    'a payload with a file the header does not name': payload({ name: './etc/hidden', content: 'x' }),
    'a payload with a path that escapes': payload({ name: './../../etc/passwd', content: 'x' }),
    'bytes after the payload': {
      payload: Buffer.concat([await compressSample(buildCpio([]), 'gz'), Buffer.from('x')]),
    },
    'a bomb': { payload: bomb, compression: 'zst', tags: { 5092: strings(digest('sha256', bomb)) } },
  }
  return [
    ...Object.entries(bytes).map(([name, content]) => ({ name, bytes: content })),
    ...(await Promise.all(
      Object.entries(built).map(async ([name, sample]) => ({ name, bytes: await buildRpm(sample) })),
    )),
  ]
}

conformance(rpmFormat, {
  good: () =>
    Promise.all(Object.entries(good).map(async ([name, sample]) => ({ name, bytes: await buildRpm(sample) }))),
  hostile: hostileSamples,
  versions: [
    '0~~-1',
    '0~-1',
    '0-1',
    '1.0~rc1-1',
    '1.0-1',
    '1.0-1.el9',
    '1.0-2',
    '1.0^git1-1',
    '1.0a-1',
    '1.0.1-1',
    '1.10-1',
    '1:0-1',
    '10:0-1',
  ],
})

describe('the rpm format', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'rpm-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  let count = 0
  async function stored(bytes: Uint8Array): Promise<string> {
    const path = join(directory, String(count++))
    await writeFile(path, bytes)
    return path
  }
  const read = async (sample: SampleRpm): Promise<PackageFacts<RpmRecord>> =>
    rpmFormat.read(await stored(await buildRpm(sample)))
  const texts = (facts: PackageFacts, strong: boolean) =>
    facts.requirements.filter((one) => one.strong === strong).map((one) => `${one.kind} ${one.text}`)

  it('reads facts from the header', async () => {
    const facts = await read(everything)
    expect(facts).toMatchObject({
      name: 'everything',
      version: '2:1.0~rc1-3.el9',
      arch: 'x86_64',
      section: 'Unspecified',
      description: 'A sample package',
      maintainer: 'Sample Packager <sample@example.org>',
      license: 'Apache-2.0',
      url: 'https://example.org/sample',
      sourcePackage: 'everything',
      sourceVersion: null,
      signatures: [],
    })
    expect(rpmFormat.filename(facts)).toBe('everything-1.0~rc1-3.el9.x86_64.rpm')
    expect(facts.record.scriptlets).toEqual(['pre', 'post', 'triggers'])
  })

  it('has strong requirements only for what it requires unconditionally of other packages', async () => {
    const facts = await read(everything)
    expect(texts(facts, true)).toEqual([
      'requires liba >= 1:2-3',
      'requires(pre) shadow',
      'requires(post,postun) /bin/sh',
      'requires (b or c >= 2)',
      'requires d',
      'requires e',
    ])
    expect(texts(facts, false)).toEqual([
      'requires (f if g)',
      'recommends r',
      'suggests s',
      'supplements t',
      'enhances u',
      'conflicts v < 2',
      'obsoletes w <= 1',
    ])
  })

  it('provides its names and the files that others may require', async () => {
    const { provides } = await read(everything)
    expect(provides.map(({ name, version }) => (version === undefined ? name : `${name} = ${version}`))).toEqual([
      'everything = 2:1.0~rc1-3.el9',
      'everything(x86-64) = 2:1.0~rc1-3.el9',
      'virtual',
      'versioned = 7',
      '/usr/bin/everything',
      '/etc/everything',
      '/etc/everything/conf',
      '/usr/lib/sendmail',
    ])
  })

  it('provides any version when a provide states no exact one', async () => {
    const { provides } = await read({ provides: ['a >= 2', 'b = 1'] })
    expect(provides.slice(2, 4)).toEqual([{ name: 'a' }, { name: 'b', version: '1' }])
  })

  it('lists files and ghosts, not directories', async () => {
    expect((await read(everything)).files).toEqual([
      'usr/bin/everything',
      'etc/everything/conf',
      'usr/lib/sendmail',
      'usr/share/everything/data',
      'var/lib/everything/db',
    ])
  })

  it('names the source version when it differs', async () => {
    const { sourcePackage, sourceVersion } = await read({ tags: { 1044: string('gcc-c-12.2-7.src.rpm') } })
    expect([sourcePackage, sourceVersion]).toEqual(['gcc-c', '12.2-7'])
    expect((await read({ tags: { 1044: string('(none)') } })).sourcePackage).toBeNull()
  })

  it.each(['gz', 'xz', 'zst', 'none'] as const)(
    'gives scanners every file and script of a %s package',
    async (compression) => {
      for (const stripped of [false, true]) {
        const found: Record<string, string> = {}
        for await (const { name, content } of rpmFormat.members(
          await stored(await buildRpm({ ...everything, compression, stripped })),
        )) {
          const pieces: Uint8Array[] = []
          for await (const piece of content) pieces.push(piece)
          found[name] = Buffer.concat(pieces).toString()
        }
        expect(found).toEqual({
          'RPM/pre': 'echo pre',
          'RPM/triggers': 'echo one\necho two',
          'usr/bin/everything': '#!/bin/sh\n',
          'etc/everything/conf': 'a=1\n',
          'usr/share/everything/data': 'data',
        })
      }
    },
  )

  it('yields the bytes of a hard-linked stripped file once, under the last name', async () => {
    const files = [
      { path: '/a', content: '', inode: 5 },
      { path: '/b', content: 'both', inode: 5 },
      { path: '/c', content: 'own', inode: 6 },
    ]
    const sizes: Record<string, number> = {}
    const bytes = await buildRpm({ stripped: true, files, tags: { 1028: int32(4, 4, 3) } })
    for await (const { name, sizeBytes } of rpmFormat.members(await stored(bytes))) sizes[name] = sizeBytes
    expect(sizes).toEqual({ a: 0, b: 4, c: 3 })
  })

  it('reads payloads of packages without payload digests', async () => {
    const facts = await read({ tags: { 5092: null, 5093: null, 5097: null }, signatureTags: { 273: null } })
    expect(facts.files).toEqual(['usr/share/sample/readme'])
  })

  it('reads packages of format 6, whose sizes are elsewhere', async () => {
    const sample: SampleRpm = { files: [{ path: '/usr/bin/x', content: 'x'.repeat(3000) }] }
    const [old, now] = [await read(sample), await read({ ...sample, v6: true })]
    expect(now.installedSizeKb).toBe(3)
    expect(now.record).toMatchObject({ rpmFormat: 6, installedBytes: old.record.installedBytes })
    expect(now.files).toEqual(old.files)
  })

  it('refuses packages of format 6 whose SHA3 digest of the header is wrong', async () => {
    await expect(read({ v6: true, signatureTags: { 279: string('0'.repeat(64)) } })).rejects.toThrow('digest')
  })

  it('refuses packages of format 6 for distributions whose rpm cannot install them, and says why', async () => {
    const [old, now] = [await read({}), await read({ v6: true })]
    const almalinux = rpmFormat.distributions[0]!
    const centos7 = { ...almalinux, fullName: 'CentOS Linux 7', packageFormatMajor: 4 }
    expect(rpmFormat.refusal!(now, almalinux)).toBeNull()
    expect(rpmFormat.refusal!(old, centos7)).toBeNull()
    expect(rpmFormat.refusal!(now, centos7)).toBe(
      'the package has the rpm format version 6, which needs rpm 4.14; CentOS Linux 7 takes versions up to 4',
    )
  })

  it('refuses packages of modules where dnf installs them, and tells them by their release', async () => {
    const almalinux = rpmFormat.distributions[0]!
    const modular = await read({ tags: { 5096: string('nodejs:18:8090020231023:abc') } })
    expect(rpmFormat.refusal!(modular, almalinux)).toContain('of the module nodejs:18:8090020231023:abc; modules are')
    expect(rpmFormat.refusal!(modular, { ...almalinux, packageManager: 'zypper' })).toBeNull()
    const listed = (version: string) => rpmFormat.refusalListed!({ name: 'nodejs', version }, almalinux)
    expect(listed('1:18.18.2-2.module+el8.9.0+1547+ff1a2d14')).toContain('of a module')
    expect(listed('1.module+1-1.el9')).toBeNull()
  })

  it('refuses source packages and unknown formats with sentences of their own', async () => {
    const sentence = (sample: SampleRpm) => read(sample).catch((error: unknown) => (error as Error).message)
    expect(await sentence({ tags: { 1106: int32(1) } })).toContain('source package')
    expect(await sentence({ tags: { 5114: int32(7) } })).toContain('version 7')
  })

  it('reads or refuses thousands of mutants quickly', async () => {
    const samples = await Promise.all(
      ['plain', 'everything', 'uncompressed', 'stripped'].map((name) => buildRpm(good[name])),
    )
    const random = seeded(20261121)
    const outcomes = { package: 0, problem: 0 }
    for (let round = 0; round < 3000; round++) {
      const original = samples[round % samples.length]!
      // Half of them agree with themselves again, so that what lies behind the digests is reached.
      const mutant = round % 2 === 0 ? mutated(original, random) : reconciled(mutated(original, random))
      const path = await stored(mutant)
      const read = () =>
        rpmFormat.read(path).then(
          () => 'package' as const,
          (error: unknown) =>
            isProblem(error, 'invalid_package') ? ('problem' as const) : Promise.reject(error as Error),
        )
      const outcome = await within(10_000, read, `round ${round}`)
      outcomes[outcome]++
    }
    expect(outcomes.problem).toBeGreaterThan(1000)
    expect(outcomes.package).toBeGreaterThan(100)
  })
})

function mutated(original: Buffer, random: (below: number) => number): Buffer {
  const bytes = Buffer.from(original)
  for (let changes = 1 + random(4); changes > 0; changes--) {
    const at = 96 + random(bytes.length - 96)
    const ways = [
      () => (bytes[at] = random(256)),
      () => (bytes[at]! ^= 1 << random(8)),
      () => bytes.fill([0, 255][random(2)]!, at, Math.min(bytes.length, at + random(8))),
      () => bytes.copyWithin(at, random(bytes.length), random(bytes.length)),
    ]
    ways[random(ways.length)]!()
  }
  return bytes
}

/** The same package without the digests of the signature header that a mutation has made wrong. */
function reconciled(bytes: Buffer): Buffer {
  const start = findHeader(bytes)
  if (start === null) return bytes
  const signature = renderHeader(62, { 1007: int32(100) })
  return assembleRpm({ signature, header: bytes.subarray(start), payload: Buffer.alloc(0) })
}

function findHeader(bytes: Buffer): number | null {
  const magic = Buffer.from('8eade80100000000', 'hex')
  const first = bytes.indexOf(magic)
  const second = first === -1 ? -1 : bytes.indexOf(magic, first + 8)
  return second === -1 ? null : second
}

/** A small generator of repeatable numbers. */
function seeded(seed: number): (below: number) => number {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
}

describe('bounds of an rpm', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'rpm-bounds-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`)

  test.each<[string, SampleRpm]>([
    ['the package declares 10,001 requires; at most 8,192 are accepted', { requires: many(10_000) }],
    ['the package declares 70,002 provides; at most 65,536 are accepted', { provides: many(70_000) }],
    ['relations; at most 16,384 are accepted', { requires: many(8000), recommends: many(8000), suggests: many(8000) }],
    ['the package has a summary of 20,000 characters', { tags: { 1004: i18n('x'.repeat(20_000)) } }],
    ['the package has a description of 300,000 characters', { tags: { 1005: i18n('x'.repeat(300_000)) } }],
    [
      'the package has a changelog whose newest 10 entries',
      {
        changelogs: Array.from({ length: 3 }, () => ({ time: 1, author: 'a', text: 'x'.repeat(500_000) })),
      },
    ],
  ])('are named: %s', async (sentence, sample) => {
    const path = join(directory, 'large.rpm')
    await writeFile(path, await buildRpm(sample))
    await expect(rpmFormat.read(path)).rejects.toThrow(sentence)
  })

  it('leave room for the packages of a kernel', async () => {
    const path = join(directory, 'kernel.rpm')
    await writeFile(path, await buildRpm({ provides: many(60_000), requires: many(8000) }))
    expect((await rpmFormat.read(path)).provides.length).toBeGreaterThan(60_000)
  })

  it('lays out 32-bit architectures under the names that dnf and zypper ask for too', () => {
    const layout = (...architectures: string[]) =>
      rpmFormat.layout({ ...rpmFormat.distributions[0]!, architectures }).aliases
    expect(layout('x86_64', 'i686', 'armv7hl')).toEqual([
      { path: 'i386', target: 'i686' },
      { path: 'armhfp', target: 'armv7hl' },
    ])
    expect(layout('x86_64', 'aarch64')).toEqual([])
  })
})
