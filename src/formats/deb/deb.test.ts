import { gzipSync } from 'node:zlib'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { composeSample, conformance, sampleSigners, type ConformanceSample } from '../../../test/conformance.ts'
import { buildAr } from '../../../test/samples/ar.ts'
import { compressSample, zstdRepeated } from '../../../test/samples/compress.ts'
import { assembleDeb, buildDeb, controlText, type SampleDeb } from '../../../test/samples/deb.ts'
import { buildTar, paxEntry, tarEntry, type SampleEntry } from '../../../test/samples/tar.ts'
import { isProblem } from '../../domain/problem.ts'
import type { Distribution, PackageFacts, StoredPackage } from '../../domain/package.ts'
import { debFormat } from './index.ts'
import type { DebRecord } from './read.ts'

const jammy = debFormat.distributions.find((distribution) => distribution.codename === 'jammy')!

/** A deb whose data.tar has these entries. */
const withData = (...entries: SampleEntry[]): Buffer =>
  assembleDeb({ control: buildTar([{ name: './control', content: controlText() }]), data: buildTar(entries) })

/** A deb whose control.tar has these entries. */
const withControl = (...entries: SampleEntry[]): Buffer =>
  assembleDeb({ control: buildTar(entries), data: buildTar([]) })

const withText = (content: string | Buffer): Buffer => withControl({ name: './control', content })

async function hostileSamples(): Promise<ConformanceSample[]> {
  const control = buildTar([{ name: './control', content: controlText() }])
  const data = buildTar([])
  const samples: Record<string, Uint8Array> = {
    'no ar archive': Buffer.from('hello'),
    'an ar archive of nothing': buildAr([]),
    'format version 3': buildAr([{ name: 'debian-binary', content: '3.0\n' }]),
    'no data.tar': buildAr([
      { name: 'debian-binary', content: '2.0\n' },
      { name: 'control.tar', content: control },
    ]),
    'data before control': buildAr([
      { name: 'debian-binary', content: '2.0\n' },
      { name: 'data.tar', content: data },
      { name: 'control.tar', content: control },
    ]),
    'an unknown member between': assembleDeb({ control, data, before: [{ name: 'other', content: 'x' }] }),
    'a second control.tar at the end': assembleDeb({
      control,
      data,
      after: [{ name: 'control.tar.gz', content: 'x' }],
    }),
    'an unknown compression': buildAr([
      { name: 'debian-binary', content: '2.0\n' },
      { name: 'control.tar.rar', content: control },
      { name: 'data.tar', content: data },
    ]),
    'a compression other than its name': buildAr([
      { name: 'debian-binary', content: '2.0\n' },
      { name: 'control.tar.xz', content: gzipSync(control) },
      { name: 'data.tar', content: data },
    ]),
    'no control file': withControl({ name: './postinst', content: 'exit 0' }),
    'two control files': withControl(
      { name: './control', content: controlText() },
      { name: 'control', content: controlText({ name: 'other' }) },
    ),
    'a control file that is a link': withControl({ name: './control', type: '2', linkName: '/etc/passwd' }),
    'an empty control file': withText(''),
    'a control file over ten megabytes': withText(`${controlText()}X-Long: ${'x'.repeat(10 * 1024 ** 2)}\n`),
    'two paragraphs': withText(`${controlText()}\n${controlText({ name: 'other' })}`),
    'a field twice': withText(`${controlText()}package: other\n`),
    'a line that is no field': withText(`${controlText()}no colon\n`),
    'a continuation first': withText(` first\n${controlText()}`),
    'a NUL': withText(`${controlText()}X: a\0b\n`),
    'an indented blank line': withText(`${controlText()} \nFilename: x\n`),
    'a comment': withText(`# comment\n${controlText()}`),
    'megabytes of carriage returns': withText(`${'\r'.repeat(4_000_000)}x\n${controlText()}`),
    'megabytes of blanks': withText(`${controlText()}no${' '.repeat(4_000_000)}colon\n`),
    'a path that escapes': withData({ name: './../../etc/passwd', content: 'x' }),
    'a path that escapes in the middle': withData({ name: './usr/../../etc/passwd', content: 'x' }),
    'a directory that escapes': withData({ name: '../' }),
    'a file without a name': withData({ name: '', content: 'x' }),
    'a file that is the root': withData({ name: './', type: '0' }, { name: '.', content: 'x' }),
    'a line feed in a name': withData({ name: './a\nb', content: 'x' }),
    'pax headers': assembleDeb({ control, data: Buffer.concat([paxEntry({ path: 'usr/x' }), data]) }),
    'entries after the end': assembleDeb({
      control,
      data: Buffer.concat([data, tarEntry({ name: 'x', content: 'y' })]),
    }),
    'a bomb in data.tar': assembleDeb({
      control: await compressSample(control, 'zst'),
      data: zstdRepeated(0, 4000),
      compression: 'zst',
    }),
    'a bomb in control.tar': assembleDeb({
      control: gzipSync(Buffer.concat([tarEntry({ name: './big', content: Buffer.alloc(66 * 1024 ** 2) }), control])),
      data: gzipSync(data),
      compression: 'gz',
    }),
  }
  const fields: Record<string, SampleDeb> = {
    'no name': { fields: { Package: null } },
    'no version': { fields: { Version: '' } },
    'no architecture': { fields: { Architecture: null } },
    'an underscore in the name': { name: 'sample_x' },
    'a name that begins with a sign': { name: '-sample' },
    'a slash in the name': { name: '../sample' },
    'a space in the version': { version: '1 0' },
    'a slash in the version': { version: '1/../../x' },
    'an empty revision': { version: '1.0-' },
    'an endless epoch': { version: '99999999999:1' },
    'two architectures': { arch: 'amd64 i386' },
    'the architecture any': { arch: 'any' },
    'a name too long for a file': { name: 'a'.repeat(300) },
    'a relation without a name': { fields: { Depends: '(>= 1)' } },
    'an unknown operator': { fields: { Depends: 'a (== 1)' } },
    'a variable left in': { fields: { Depends: '${shlibs:Depends}' } },
    'an alternative of nothing': { fields: { Depends: 'a | ' } },
    'alternatives in Conflicts': { fields: { Conflicts: 'a | b' } },
    'a range in Provides': { fields: { Provides: 'a (>= 1)' } },
    'a restriction to architectures': { fields: { Depends: 'a [amd64]' } },
    'a hundred thousand relations': { fields: { Depends: 'a,'.repeat(100_000) } },
    'a relation of spaces': { fields: { Depends: `a${' '.repeat(100_000)}b` } },
    'a source with a slash': { fields: { Source: '../x' } },
  }
  for (const [name, sample] of Object.entries(fields)) samples[name] = await buildDeb(sample)
  return Object.entries(samples).map(([name, bytes]) => ({ name, bytes }))
}

conformance(debFormat, {
  async good() {
    const kinds = ['gz', 'xz', 'zst', 'lzma', 'none'] as const
    const each = kinds.map(async (compression) => ({ name: compression, bytes: await buildDeb({ compression }) }))
    return [
      ...(await Promise.all(each)),
      { name: 'scripts', bytes: await buildDeb({ scripts: { postinst: '#!/bin/sh\nexit 0\n', md5sums: '' } }) },
      { name: 'odd version', bytes: await buildDeb({ version: '3:1.0~rc1+b2:4-1', arch: 'all' }) },
      { name: 'empty', bytes: withControl({ name: 'control', content: controlText() }) },
    ]
  },
  hostile: hostileSamples,
  versions: [
    '0~~',
    '0~',
    '0',
    '0a',
    '0+',
    '1.0~rc1-1',
    '1.0~rc1-2',
    '1.0-0',
    '1.0-0.1',
    '1.0-1',
    '1.0-1b',
    '1.0-1.1',
    '1.0a',
    '1.0+b1',
    '1.0.1',
    '1.2',
    '1.10',
    '99999999999999999998',
    '99999999999999999999',
    '1:0',
    '2:0',
    '10:0',
  ],
})

describe('reading a deb', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'deb-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  async function read(bytes: Uint8Array): Promise<PackageFacts<DebRecord>> {
    const path = join(directory, 'sample.deb')
    await writeFile(path, bytes)
    return debFormat.read(path)
  }

  it('reads facts from the fields', async () => {
    const facts = await read(
      await buildDeb({
        name: 'g++-demo',
        version: '1:2.0~rc1-3+b1',
        fields: {
          Source: 'demo (1:2.0~rc1-3)',
          Homepage: 'https://example.org',
          License: 'MIT',
          Provides: 'c++, demo-abi (= 4)',
        },
      }),
    )
    expect(facts).toMatchObject({
      name: 'g++-demo',
      version: '1:2.0~rc1-3+b1',
      arch: 'amd64',
      section: 'misc',
      description: 'a sample package',
      maintainer: 'Sample Maintainer <sample@example.org>',
      license: 'MIT',
      url: 'https://example.org',
      sourcePackage: 'demo',
      sourceVersion: '1:2.0~rc1-3',
      installedSizeKb: 12,
      provides: [{ name: 'c++' }, { name: 'demo-abi', version: '4' }],
      files: ['usr/share/g++-demo/readme'],
    })
    expect(debFormat.filename(facts)).toBe('g++-demo_2.0~rc1-3+b1_amd64.deb')
  })

  it('is its own source when it names none, and omits an equal source version', async () => {
    expect(await read(await buildDeb())).toMatchObject({ sourcePackage: 'sample', sourceVersion: null })
    const same = await read(await buildDeb({ version: '1-2', fields: { Source: 'src (1-2)' } }))
    expect(same).toMatchObject({ sourcePackage: 'src', sourceVersion: null })
    const equals = await read(await buildDeb({ version: '1-2', fields: { Source: 'src (= 1-1)' } }))
    expect(equals).toMatchObject({ sourcePackage: 'src', sourceVersion: '1-1' })
  })

  it.each(['WorldOfGoo', 'x', 'R'])('takes the name %s, as dpkg and apt do', async (name) => {
    const facts = await read(await buildDeb({ name }))
    expect(debFormat.filename(facts)).toBe(`${name}_1.0-1_amd64.deb`)
  })

  it.each(['debian-installer', 'contrib/debian-installer'])('refuses udebs (%s) and says why', async (section) => {
    const [udeb, deb] = [await read(await buildDeb({ fields: { Section: section } })), await read(await buildDeb())]
    expect(debFormat.refusal!(udeb, debFormat.distributions[0]!)).toContain('udeb')
    expect(debFormat.refusal!(deb, debFormat.distributions[0]!)).toBeNull()
  })

  it('takes pax headers of times and attributes in control.tar, which tar unpacks, and no others', async () => {
    const data = buildTar([{ name: './' }])
    const built = (records: Record<string, string>) =>
      assembleDeb({
        control: Buffer.concat([paxEntry(records), buildTar([{ name: './control', content: controlText() }])]),
        data,
      })
    expect((await read(built({ mtime: '1700000000.5', 'LIBARCHIVE.xattr.com.apple.provenance': 'x' }))).name).toBe(
      'sample',
    )
    const others: Record<string, string>[] = [{ path: './other' }, { size: '3' }, { linkpath: 'x' }]
    for (const records of others) await expect(read(built(records))).rejects.toThrow('pax')
  })

  it('reads relations with alternatives, versions and architectures, over several lines', async () => {
    const { requirements } = await read(
      await buildDeb({
        fields: {
          Depends: 'libc6 (>= 2.14),\n python3:any (<< 4) | perl (>>5.0),',
          'Pre-Depends': 'dpkg',
          Recommends: 'a(=1)',
          Breaks: 'old (<= 3), older (< 2)',
        },
      }),
    )
    expect(requirements.map(({ kind, strong, anyOf }) => [kind, strong, anyOf])).toEqual([
      ['depends', true, [{ name: 'libc6', op: '>=', version: '2.14' }]],
      [
        'depends',
        true,
        [
          { name: 'python3', op: '<', version: '4', arch: 'any' },
          { name: 'perl', op: '>', version: '5.0' },
        ],
      ],
      ['pre-depends', true, [{ name: 'dpkg' }]],
      ['recommends', false, [{ name: 'a', op: '=', version: '1' }]],
      ['breaks', false, [{ name: 'old', op: '<=', version: '3' }]],
      ['breaks', false, [{ name: 'older', op: '<=', version: '2' }]],
    ])
    expect(requirements[1]?.text).toBe('python3:any (<< 4) | perl (>>5.0)')
  })

  it('keeps every field, in order, with its lines intact', async () => {
    const text =
      'Package: aa\nVersion: 1\nX-Odd : v \nArchitecture: all\r\nDescription: short\n one\n  two\n .\n \tthree\nEmpty:\n'
    const { record } = await read(withText(`\n${text}\n\n`))
    expect(record.fields).toEqual([
      ['Package', 'aa'],
      ['Version', '1'],
      ['X-Odd', 'v'],
      ['Architecture', 'all'],
      ['Description', 'short\n one\n  two\n .\n \tthree'],
      ['Empty', ''],
    ])
  })

  it('decodes a maintainer in Latin-1', async () => {
    const { maintainer } = await read(
      withText(Buffer.from(controlText({ fields: { Maintainer: 'J\xf6rg <j@example.org>' } }), 'latin1')),
    )
    expect(maintainer).toBe('Jörg <j@example.org>')
  })

  it('lists links and devices, no directories, names as dpkg installs them', async () => {
    const { files } = await read(
      withData(
        { name: './usr/' },
        { name: './usr//bin/./a', content: 'x' },
        { name: '/etc/b', content: 'x' },
        { name: 'c', type: '2', linkName: '../../elsewhere' },
        { name: './d', type: '1', linkName: './c' },
        { name: './e', type: '3' },
        { name: `./${'long/'.repeat(60)}f`, content: 'x' },
        { name: Buffer.from('./\xfcmlaut', 'latin1'), content: 'x' },
      ),
    )
    expect(files).toEqual(['usr/bin/a', 'etc/b', 'c', 'd', 'e', `${'long/'.repeat(60)}f`, '\ufffdmlaut'])
  })

  const EMPTY_PARTS = { control: buildTar([{ name: 'control', content: controlText() }]), data: buildTar([]) }

  test.each([
    { before: [{ name: '_extra', content: 'x' }] },
    { before: [{ name: '_x', content: gzipSync('x') }] },
    { after: [{ name: '_extra.gz', content: gzipSync('x') }] },
    { after: [{ name: 'other.gz', content: gzipSync('x') }] },
    { after: [{ name: '_gpgorigin', content: Buffer.alloc(65_537) }] },
  ])('refuses members that no scanner would read: %j', async (members) => {
    await expect(read(assembleDeb({ ...EMPTY_PARTS, ...members }))).rejects.toThrow(
      /has the member \S+, where only|has more than 65536 bytes/,
    )
  })

  it('passes signature members to scanners, unpacked', async () => {
    const after = [
      { name: '_gpgorigin', content: 'plain' },
      { name: '_gpgbuilder', content: gzipSync('packed') },
      { name: '_gpgodd', content: Buffer.from([0x1f, 0x8b, 1, 2]) },
    ]
    const path = join(directory, 'signed.deb')
    await writeFile(path, assembleDeb({ ...EMPTY_PARTS, after }))
    const found: Record<string, string> = {}
    for await (const { name, content } of debFormat.members(path)) {
      const pieces: Uint8Array[] = []
      for await (const piece of content) pieces.push(piece)
      found[name] = Buffer.concat(pieces).toString('latin1')
    }
    expect(found).toMatchObject({ _gpgorigin: 'plain', _gpgbuilder: 'packed', _gpgodd: '\x1f\x8b\x01\x02' })
  })

  test.each([
    ['relations in Depends', { Depends: 'a, '.repeat(5000) }],
    ['relations', { Depends: 'a, '.repeat(3000), Suggests: 'a | b, '.repeat(1500), Conflicts: 'a, '.repeat(3000) }],
    ['relations in Provides', { Provides: 'a, '.repeat(20_000) }],
  ])('refuses more %s than any real package has', async (what, fields) => {
    await expect(read(await buildDeb({ fields }))).rejects.toThrow(
      new RegExp(`the package declares [0-9,]+ ${what}; at most [0-9,]+ are accepted`),
    )
  })

  test.each([
    ['a synopsis', { Description: 'x'.repeat(20_000) }],
    ['a field Description', { Description: `x\n${` ${'y'.repeat(40)}\n`.repeat(10_000)} z` }],
    ['a field Homepage', { Homepage: 'x'.repeat(20_000) }],
    ['a field X-Own', { 'X-Own': 'x'.repeat(300_000) }],
  ])('refuses %s that is longer than any real one', async (what, fields) => {
    await expect(read(await buildDeb({ fields }))).rejects.toThrow(
      new RegExp(`the package has ${what} of [0-9,]+ characters; at most [0-9,]+ are accepted`),
    )
  })

  it('refuses what unpacks to more than it may before it unpacks it', async () => {
    const path = join(directory, 'large.deb')
    await writeFile(
      path,
      withData({ name: './a', content: Buffer.alloc(600_000) }, { name: './b', content: Buffer.alloc(600_000) }),
    )
    await expect(debFormat.read(path, { maxUnpackedBytes: 1_000_000 })).rejects.toThrow(
      'unpacks to more than 1,000,000 bytes',
    )
  })

  it('keeps blanks at the end of inner lines of a description, which its digest covers', async () => {
    const facts = await read(await buildDeb({ fields: { Description: 'a synopsis \n long \n text ' } }))
    expect(facts.description).toBe('a synopsis')
    expect(new Map(facts.record.fields).get('Description')).toBe('a synopsis \n long \n text')
  })

  it('describes its signatures', async () => {
    // version 4, binary document, RSA, SHA-256; hashed area: issuer fingerprint; unhashed area: issuer
    const fingerprint = Buffer.from('00112233445566778899aabbccddeeff01234567', 'hex')
    const hashed = Buffer.concat([Buffer.from([22, 33, 4]), fingerprint])
    const body = Buffer.concat([Buffer.from([4, 0, 1, 8, 0, hashed.length]), hashed, Buffer.from([0, 0, 0, 0])])
    const packet = Buffer.concat([Buffer.from([0x88, body.length]), body])
    const armored = `-----BEGIN PGP SIGNATURE-----\n\n${packet.toString('base64')}\n=abcd\n-----END PGP SIGNATURE-----\n`
    const parts = { control: buildTar([{ name: 'control', content: controlText() }]), data: buildTar([]) }
    const after = [
      { name: '_gpgorigin', content: packet },
      { name: '_gpgbuilder', content: `-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nVersion: 4\n${armored}` },
      { name: '_gpgodd', content: 'nonsense' },
    ]
    expect((await read(assembleDeb({ ...parts, after }))).signatures).toEqual([
      { keyId: 'CCDDEEFF01234567', algorithm: 'RSA' },
      { keyId: 'CCDDEEFF01234567', algorithm: 'RSA' },
      { keyId: null, algorithm: 'unknown' },
    ])
  })

  it('names the member that is damaged', async () => {
    const bytes = await buildDeb({ compression: 'xz' })
    bytes[bytes.length - 60]! ^= 0xff
    const outcome = await read(bytes).catch((error: unknown) => error)
    expect(isProblem(outcome, 'invalid_package') && outcome.detail).toMatch(/^data\.tar\.xz: the xz data is damaged$/)
  })

  it('yields scripts and files as members', async () => {
    const path = join(directory, 'members.deb')
    await writeFile(path, await buildDeb({ scripts: { postinst: 'exit 0' }, files: { 'usr/bin/tool': 'program' } }))
    const seen: string[] = []
    for await (const member of debFormat.members(path)) {
      let text = ''
      for await (const piece of member.content) text += Buffer.from(piece).toString()
      seen.push(`${member.name}=${text.slice(0, 7)}`)
    }
    expect(seen).toEqual(['DEBIAN/control=Package', 'DEBIAN/postinst=exit 0', 'usr/bin/tool=program'])
  })

  describe('rendering', () => {
    const sha256 = 'ab'.repeat(32)
    async function pkg(sample: SampleDeb = {}): Promise<StoredPackage<DebRecord>> {
      const facts = await read(await buildDeb(sample))
      const digests = { sha256, sha512: 'cd'.repeat(64), sha1: 'ef'.repeat(20), md5: '01'.repeat(16) }
      return { facts, filename: debFormat.filename(facts), sizeBytes: 1234, digests, addedAt: 0 }
    }

    it('writes the stanza that apt reads', async () => {
      const entry = debFormat.entry(await pkg(), jammy)
      expect(Buffer.from(entry['packages']!).toString()).toBe(
        controlText() +
          `Filename: dists/jammy/pool/ab/abababababababab/sample_1.0-1_amd64.deb\nSize: 1234\nMD5sum: ${'01'.repeat(16)}\n` +
          `SHA1: ${'ef'.repeat(20)}\nSHA256: ${sha256}\nSHA512: ${'cd'.repeat(64)}\n\n`,
      )
    })

    it('ignores fields of the control file that describe the file itself', async () => {
      const entry = debFormat.entry(await pkg({ fields: { filename: 'elsewhere', SHA256: 'false', Size: '1' } }), jammy)
      const text = Buffer.from(entry['packages']!).toString()
      expect(text).not.toMatch(/elsewhere|false/)
      expect(text.match(/^(Filename|Size|SHA256):/gim)).toHaveLength(3)
    })

    const releaseOf = async (distribution: Distribution) => {
      const files = await debFormat.index({
        ...{ distribution, revision: 1, date: new Date(0), architectures: [], count: () => 0 },
        ...{ signers: sampleSigners, backgroundIndexes: [{ path: 'x', sizeBytes: 1, sha256: 'c'.repeat(64) }] },
        compose: () => Promise.reject(new Error('there is nothing to compose')),
      })
      return String(files.find(({ path }) => path === 'Release')!.content).split('\nSHA256:')[0]
    }

    it('writes the Release fields that a distribution declares', async () => {
      const release = { origin: 'ACME', label: 'ACME internal', suite: 'stable', description: 'What ACME runs' }
      const automatic = { notAutomatic: true, butAutomaticUpgrades: true }
      expect(await releaseOf({ ...jammy, release: { ...release, ...automatic } })).toBe(
        'Origin: ACME\nLabel: ACME internal\nSuite: stable\nCodename: jammy\nDate: Thu, 01 Jan 1970 00:00:00 UTC\n' +
          'NotAutomatic: yes\nButAutomaticUpgrades: yes\nAcquire-By-Hash: yes\nArchitectures: amd64\nComponents: main\n' +
          'Description: What ACME runs',
      )
    })

    it('writes our own Release fields where a distribution declares none', async () => {
      expect(await releaseOf(jammy)).toBe(
        'Origin: Gatehouse\nLabel: Gatehouse\nSuite: jammy\nCodename: jammy\nDate: Thu, 01 Jan 1970 00:00:00 UTC\n' +
          `Acquire-By-Hash: yes\nArchitectures: amd64\nComponents: main\nDescription: Packages for ${jammy.fullName}`,
      )
    })

    it('signs a Release that names each file with its size and digest', async () => {
      const text = Buffer.from('Package: x\n\n')
      const plain = { sizeBytes: 99, sha256: 'e'.repeat(64) }
      const extra = { path: 'main/Contents-amd64.gz', sizeBytes: 10, sha256: 'c'.repeat(64), plain }
      const files = await debFormat.index({
        distribution: jammy,
        revision: 1,
        date: new Date('2026-11-05T09:08:07Z'),
        architectures: jammy.architectures,
        count: () => 1,
        compose: async () => ({
          ...composeSample([text]),
          xz: { sizeBytes: 3, sha256: 'd'.repeat(64), parts: [Buffer.from('xyz')] },
        }),
        signers: sampleSigners,
        backgroundIndexes: [extra],
      })
      expect(files.map((file) => file.path)).toEqual([
        'main/binary-amd64/Packages.gz',
        'main/binary-amd64/Packages.xz',
        'Release',
        'Release.gpg',
        'InRelease',
      ])
      const release = String(files[2]!.content)
      expect(release).toContain(
        '\nSuite: jammy\nCodename: jammy\nDate: Thu, 05 Nov 2026 09:08:07 UTC\nAcquire-By-Hash: yes\n',
      )
      const listed = [...release.matchAll(/^ ([0-9a-f]{64}) +(\d+) (\S+)$/gm)].map((match) => match.slice(1))
      const gz = Buffer.concat(files[0]!.content as Uint8Array[])
      const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
      expect(listed).toEqual([
        [plain.sha256, '99', 'main/Contents-amd64'],
        [extra.sha256, '10', extra.path],
        [digest(text), String(text.length), 'main/binary-amd64/Packages'],
        [digest(gz), String(gz.length), 'main/binary-amd64/Packages.gz'],
        ['d'.repeat(64), '3', 'main/binary-amd64/Packages.xz'],
      ])
      expect(files.slice(0, 2).map((file) => file.byHash)).toEqual([digest(gz), 'd'.repeat(64)])
      expect(String(files[3]!.content)).toContain(digest(Buffer.from(release)))
      expect(String(files[4]!.content)).toContain(release)
    })

    it('lists files for Contents', async () => {
      const { facts } = await pkg({ files: { 'usr/a b': '', 'usr/c': '' } })
      expect([...debFormat.contents!.lines(facts)]).toEqual(['usr/a b\tmisc/sample', 'usr/c\tmisc/sample'])
      expect(debFormat.contents!.path(jammy, 'arm64')).toBe('main/Contents-arm64.gz')
    })
  })
})
