import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { composeSample, conformance, sampleSigners, type ConformanceSample } from '../../../test/conformance.ts'
import { assembleApk, buildApk, makeKey, pkginfoText, segment, type SampleApk } from '../../../test/samples/apk.ts'
import { buildTar, paxEntry, tarEntry, type SampleEntry } from '../../../test/samples/tar.ts'
import { isProblem } from '../../domain/problem.ts'
import type { PackageFacts, StoredPackage } from '../../domain/package.ts'
import { unsatisfied } from '../dependencies.ts'
import { apkFormat } from './index.ts'
import type { ApkRecord } from './read.ts'
import { verifySignature } from './signatures.ts'

const alpine = apkFormat.distributions.find((distribution) => distribution.codename === 'alpine3.20')!
const key = makeKey('builder@example.org-1.rsa.pub')
const other = makeKey('other.rsa.pub')

const EMPTY_DATA = gzipSync(buildTar([]))
const pkginfo = (content: string | Buffer = pkginfoText()): SampleEntry => ({ name: '.PKGINFO', content })

/** An apk whose control segment has these entries, and no files. */
const withControl = (...entries: SampleEntry[]): Buffer => assembleApk({ control: segment(entries), data: EMPTY_DATA })

const withText = (content: string | Buffer): Buffer => withControl(pkginfo(content))

/** An apk whose data segment is a gzip member of these bytes. */
function withTar(tar: Uint8Array): Buffer {
  const data = gzipSync(tar)
  return assembleApk({ control: segment([pkginfo(pkginfoText({}, data))]), data })
}
const withData = (...entries: SampleEntry[]): Buffer => withTar(buildTar(entries))

function hostileSamples(): ConformanceSample[] {
  const control = segment([pkginfo()])
  const data = EMPTY_DATA
  const noHash = { info: { datahash: null } }
  const samples: Record<string, Uint8Array> = {
    nothing: Buffer.alloc(0),
    'no gzip': Buffer.from('hello'),
    'a gzip of text': gzipSync('hello'),
    'a plain tar.gz': gzipSync(buildTar([{ name: 'usr/bin/tool', content: 'x' }])),
    'apk v3': Buffer.concat([Buffer.from('ADB.pckg'), Buffer.alloc(100)]),
    'apk v3, deflated': Buffer.concat([Buffer.from('ADBd'), Buffer.alloc(100)]),
    'apk v3, compressed otherwise': Buffer.from('ADBc\x02\x01'),
    'a signature and no more': segment([{ name: '.SIGN.RSA.x', content: 'x' }]),
    'a control segment and no more': control,
    'data first': Buffer.concat([data, control]),
    'a fourth segment': Buffer.concat([control, data, data]),
    'one segment with all in it': gzipSync(buildTar([pkginfo(), { name: 'usr/x', content: 'x' }])),
    'a signature in the control segment': withControl(
      { name: '.PKGINFO', content: pkginfoText() },
      { name: '.SIGN.RSA.x' },
    ),
    'control in the signature segment': Buffer.concat([segment([{ name: '.SIGN.RSA.x' }, pkginfo()]), control, data]),
    'an empty segment in front': Buffer.concat([gzipSync(''), control, data]),
    'an end of archive before the data': assembleApk({ control: gzipSync(buildTar([pkginfo()])), data }),
    'an entry across two segments': Buffer.concat([
      segment([pkginfo()]),
      gzipSync(tarEntry({ name: 'usr/x', content: 'x'.repeat(2000) }).subarray(0, 1000)),
      gzipSync(tarEntry({ name: 'usr/x', content: 'x'.repeat(2000) }).subarray(1000)),
    ]),
    'bytes behind the end': Buffer.concat([control, data, Buffer.from('more')]),
    'zeros behind the end': Buffer.concat([control, data, Buffer.alloc(64)]),
    'no .PKGINFO': withControl({ name: '.pre-install', content: 'exit 0' }),
    'two .PKGINFO': withControl(pkginfo(), pkginfo()),
    'a .PKGINFO that is a link': withControl({ name: '.PKGINFO', type: '2', linkName: '/etc/passwd' }),
    'a file beside .PKGINFO': withControl(pkginfo(), { name: 'etc/passwd', content: 'x' }),
    'a path in the control segment': withControl(pkginfo(), { name: './.post-install', content: 'x' }),
    'an empty .PKGINFO': withText(''),
    'a .PKGINFO over four megabytes': withText(`${pkginfoText()}x = ${'x'.repeat(4 * 1024 ** 2)}\n`),
    'a hundred thousand lines': withText(pkginfoText() + 'x = y\n'.repeat(100_000)),
    'a NUL': withText(`${pkginfoText()}x = a\0b\n`),
    'carriage returns': withText(pkginfoText().replaceAll('\n', '\r\n')),
    'a name twice': withText(`${pkginfoText()}pkgname = other\n`),
    'a datahash twice': withText(`${pkginfoText()}datahash = ${'0'.repeat(64)}\n`),
    'a name that apk does not see': withText(`${pkginfoText()}  pkgname = other\n`),
    'a name that apk does not see either': withText(`${pkginfoText()}pkgname=other\n`),
    'no datahash': withText(pkginfoText(noHash)),
    'a datahash of nothing': withText(`${pkginfoText(noHash)}datahash = \n`),
    'a datahash that is none': withText(`${pkginfoText(noHash)}datahash = 1234\n`),
    'the datahash of other data': assembleApk({ control, data: gzipSync(buildTar([{ name: 'x', content: 'x' }])) }),
    'data with other compression': assembleApk({ control, data: gzipSync(buildTar([]), { level: 0 }) }),
    'a path that escapes': withData({ name: '../../etc/passwd', content: 'x' }),
    'a path that escapes in the middle': withData({ name: 'usr/../../etc/passwd', content: 'x' }),
    'a directory that escapes': withData({ name: '../' }),
    'a file without a name': withData({ name: '', content: 'x' }),
    'a file that is the root': withData({ name: './', type: '0' }, { name: '.', content: 'x' }),
    'a line feed in a name': withData({ name: 'a\nb', content: 'x' }),
    'entries after the end': withTar(Buffer.concat([buildTar([]), tarEntry({ name: 'x', content: 'y' })])),
    'a cut data segment': withTar(tarEntry({ name: 'x', content: 'y'.repeat(1000) }).subarray(0, 700)),
    'a pax header without an entry': withTar(paxEntry({ path: 'usr/x' })),
    'a file hidden from other readers by a size': withTar(
      Buffer.concat([
        paxEntry({ size: '1024' }),
        tarEntry({ name: 'usr/a' }),
        tarEntry({ name: 'usr/hidden', content: 'x' }),
        Buffer.alloc(1024),
      ]),
    ),
    'a file hidden from apk by a size': withTar(
      Buffer.concat([paxEntry({ size: '0' }), tarEntry({ name: 'usr/a', content: 'x'.repeat(512) }), buildTar([])]),
    ),
    'a name for all entries, which apk does not read': withTar(
      Buffer.concat([paxEntry({ path: 'usr/x' }, 'g'), buildTar([{ name: 'usr/y', content: 'x' }])]),
    ),
    'a size in the control segment': assembleApk({
      control: gzipSync(Buffer.concat([paxEntry({ size: '5' }), tarEntry(pkginfo())])),
      data: EMPTY_DATA,
    }),
    'a size of which apk sees only the lower bits': withTar(tarEntry({ name: 'usr/a', size: 2 ** 32 })),
    'a sparse file': withData({ name: 'usr/x', type: 'S' }),
    'a bomb in the control segment': withControl(pkginfo(), { name: '.big', content: Buffer.alloc(33 * 1024 ** 2) }),
    'a bomb in the signature segment': Buffer.concat([
      segment([{ name: '.SIGN.RSA.x', content: Buffer.alloc(33 * 1024 ** 2) }]),
      control,
      data,
    ]),
    'a bomb in the data segment': withData({ name: 'usr/big', content: Buffer.alloc(100 * 1024 ** 2) }),
    'a thousand scripts': withControl(
      pkginfo(),
      ...Array.from({ length: 1001 }, (_, index) => ({ name: `.s${index}`, content: 'x' })),
    ),
    'a hundred segments': Buffer.concat(Array.from({ length: 100 }, () => segment([{ name: '.SIGN.RSA.x' }]))),
  }
  const infos: Record<string, SampleApk> = {
    'no name': { info: { pkgname: null } },
    'no version': { info: { pkgver: null } },
    'an empty version': { info: { pkgver: '' } },
    'no architecture': { info: { arch: null } },
    'a slash in the name': { name: '../sample' },
    'a name that begins with a dash': { name: '-sample' },
    'a blank after the name': { name: 'sample ' },
    'a slash in the version': { version: '1/../../x' },
    'a version of words': { version: 'latest' },
    'two architectures': { arch: 'x86_64 aarch64' },
    'a name too long for a file': { name: 'a'.repeat(300) },
    'a size that is no number': { info: { size: '12k' } },
    'a negative build date': { info: { builddate: '-1' } },
    'a licence longer than apk can write': { info: { license: 'MIT AND '.repeat(300) } },
    'a relation without a name': { info: { depend: '>=1' } },
    'a relation without a version': { info: { depend: 'a>=' } },
    'a relation with a version that is none': { info: { depend: 'a>=x' } },
    'a relation with a commit hash': { info: { depend: 'a=1.0~abc' } },
    'a repository tag': { info: { depend: 'a@edge>2' } },
    'a repository tag of nothing': { info: { depend: 'a@' } },
    'a repository tag in a conflict': { info: { depend: '!a@edge' } },
    'a repository tag on a provided name': { info: { provides: 'a@edge' } },
    'a prefix and a range': { info: { depend: 'a>~1' } },
    'a prefix and another range': { info: { depend: 'a<~1' } },
    'a negated replacement': { info: { replaces: '!a' } },
    'a name that is not ASCII': { info: { depend: 'grün' } },
    'a double negation': { info: { depend: '!!a' } },
    'five thousand relations': { info: { depend: 'a '.repeat(5000) } },
    'a long license': { info: { license: 'x'.repeat(20_000) } },
    'a long description': { info: { pkgdesc: 'x'.repeat(20_000) } },
    'a relation by checksum': { info: { depend: 'a><Q1abc=' } },
    'a relation of only an exclamation mark': { info: { depend: '!' } },
    'a long relation': { info: { depend: 'a'.repeat(300) } },
    'a tab between relations': { info: { depend: 'a\tb' } },
    'a hundred thousand relations': { info: { depend: 'a '.repeat(100_000) } },
    'a line longer than apk can read': { info: { provides: `cmd:${'a'.repeat(200)} `.repeat(600) } },
    'a provided range': { info: { provides: 'a>=1' } },
    'a provided conflict': { info: { provides: '!a' } },
  }
  for (const [name, sample] of Object.entries(infos)) samples[name] = buildApk(sample)
  return Object.entries(samples).map(([name, bytes]) => ({ name, bytes }))
}

conformance(apkFormat, {
  async good() {
    const signatures = [{ key }, { key: other, algorithm: 'RSA' as const }]
    return [
      { name: 'plain', bytes: buildApk() },
      { name: 'signed', bytes: buildApk({ signatures }) },
      { name: 'noarch', bytes: buildApk({ arch: 'noarch', version: '1.0_rc2_git20240101-r3' }) },
      { name: 'scripts', bytes: buildApk({ scripts: { 'pre-install': '#!/bin/sh\nexit 0\n', trigger: '' } }) },
      { name: 'no files', bytes: buildApk({ files: {} }) },
      { name: 'an empty data segment', bytes: withTar(Buffer.alloc(0)) },
    ]
  },
  hostile: async () => hostileSamples(),
  versions: ['0_alpha', '0', '0.1', '1_beta2', '1', '1-r0', '1-r1', '1_p1', '1a', '1.0', '1.01', '1.1', '1.10', '2'],
})

describe('recognising an apk', () => {
  it('recognises it by its first header or more', () => {
    for (const bytes of [buildApk(), buildApk({ signatures: [{ key }] })]) {
      for (let length = 200; length < bytes.length; length += 7) {
        expect(apkFormat.recognizes(bytes.subarray(0, length)), String(length)).toBe(true)
      }
    }
  })

  it.each<[string, Uint8Array, boolean]>([
    ['an apk v3', Buffer.from('ADB.pckg'), true],
    ['a compressed apk v3', Buffer.from('ADBd'), true],
    ['text that begins like one', Buffer.from('ADBx'), false],
    ['.PKGINFO behind a pax header', gzipSync(Buffer.concat([paxEntry({ mtime: '1' }), buildTar([pkginfo()])])), true],
    ['a script first', withControl({ name: '.post-install', content: 'x' }, pkginfo()), true],
    ['a tar.gz of a directory', gzipSync(buildTar([{ name: './' }, { name: './a', content: 'x' }])), false],
    ['a tar.gz of a hidden directory', gzipSync(buildTar([{ name: '.git/' }])), false],
    ['an empty tar.gz', gzipSync(buildTar([])), false],
    ['an unsigned index', gzipSync(buildTar([{ name: 'DESCRIPTION', content: 'x' }])), false],
    [
      'a signed index',
      Buffer.concat([segment([{ name: '.SIGN.RSA.x', content: 'x' }]), gzipSync(buildTar([{ name: 'DESCRIPTION' }]))]),
      false,
    ],
    ['an old tar', gzipSync(Buffer.concat([Buffer.from('.PKGINFO'), Buffer.alloc(2000)])), false],
  ])('%s', (_, bytes, expected) => expect(apkFormat.recognizes(bytes.subarray(0, 4096))).toBe(expected))

  it('names the version of a v3 package', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'apk-'))
    const path = join(directory, 'v3.apk')
    await writeFile(path, 'ADB.pckg')
    await expect(apkFormat.read(path)).rejects.toThrow('apk v3 (ADB) packages are not supported yet')
    await rm(directory, { recursive: true })
  })
})

describe('an apk', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'apk-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  let count = 0
  async function stored(bytes: Uint8Array): Promise<string> {
    const path = join(directory, `${count++ % 100}.apk`)
    await writeFile(path, bytes)
    return path
  }
  const read = async (bytes: Uint8Array): Promise<PackageFacts<ApkRecord>> => apkFormat.read(await stored(bytes))

  describe('read', () => {
    it('reads facts from .PKGINFO', async () => {
      const facts = await read(
        buildApk({
          name: 'Py3-demo_x',
          version: '1.2.3_git20240101-r4',
          info: { origin: 'demo', pkgdesc: 'short = sweet', size: '5000', 'x-own': 'kept' },
          signatures: [{ key, algorithm: 'RSA' }, { key: other }, { key, algorithm: 'RSA512' }],
        }),
      )
      expect(facts).toMatchObject({
        format: 'apk',
        name: 'Py3-demo_x',
        version: '1.2.3_git20240101-r4',
        arch: 'x86_64',
        section: null,
        description: 'short = sweet',
        maintainer: 'Sample Maintainer <sample@example.org>',
        license: 'MIT',
        url: 'https://example.org/sample',
        sourcePackage: 'demo',
        sourceVersion: null,
        installedSizeKb: 5,
        files: ['usr/share/Py3-demo_x/readme'],
        signatures: [
          { keyId: key.name, algorithm: 'RSA-SHA1' },
          { keyId: other.name, algorithm: 'RSA-SHA256' },
          { keyId: key.name, algorithm: 'RSA-SHA512' },
        ],
      })
      expect(facts.record.fields).toContainEqual(['x-own', 'kept'])
      expect(facts.record.fields).toContainEqual(['packager', 'Sample Packager <packager@example.org>'])
      expect(apkFormat.filename(facts)).toBe('Py3-demo_x-1.2.3_git20240101-r4.apk')
    })

    it('identifies the package by the digest of its control segment, signed or not', async () => {
      const control = segment([pkginfo()])
      const sha1 = createHash('sha1').update(control).digest('hex')
      const parts = { control, data: EMPTY_DATA }
      expect((await read(assembleApk(parts))).record.controlSha1).toBe(sha1)
      const signatures = [{ key }, { key: other }]
      expect((await read(assembleApk({ ...parts, signatures }))).record.controlSha1).toBe(sha1)
    })

    it('ignores comments, unknown lines and empty values', async () => {
      const text = pkginfoText({ info: { pkgdesc: 'first line\n  second = line of it', url: '', license: null } })
      const facts = await read(withText(`${text}no pair\nlicense =\n# pkgname = comment\n\n`))
      expect(facts).toMatchObject({ name: 'sample', description: 'first line', url: null, license: null })
    })

    it('takes a line for each licence, of which apk indexes the last', async () => {
      const text = pkginfoText({ info: { license: 'Ruby OR MIT' } })
      const facts = await read(withText(`${text}license = BSD-2-Clause\nlicense = BSD-2-Clause\n`))
      expect(facts.license).toBe('(Ruby OR MIT) AND BSD-2-Clause')
      const digests = { sha256: 'ab'.repeat(32), sha512: '', sha1: '', md5: '' }
      const pkg = { facts, filename: apkFormat.filename(facts), sizeBytes: 1, digests, addedAt: 0 }
      const entry = apkFormat.entry(pkg, apkFormat.distributions[0]!)['apkindex']!
      expect(Buffer.from(entry).toString()).toContain('\nL:BSD-2-Clause\n')
      await expect(
        read(withText(text + Array.from({ length: 5000 }, (_, n) => `license = L${n}\n`).join(''))),
      ).rejects.toThrow('license')
    })

    it('decodes text in Latin-1', async () => {
      const text = pkginfoText({ info: { maintainer: 'J\xf6rg' } })
      expect((await read(withText(Buffer.from(text, 'latin1')))).maintainer).toBe('Jörg')
      expect((await read(withText(Buffer.from(text, 'utf8')))).maintainer).toBe('Jörg')
    })

    it('reads relations with prefixes, conflicts and every operator', async () => {
      const { requirements, provides } = await read(
        buildApk({
          info: {
            depend: ['so:libc.musl-x86_64.so.1', 'cmd:[', 'a<1 b<=1.0-r0  c=1 d>=1_p2', 'e>1', 'f~1.2', 'g~=1', 'h==1'],
            provides: ['cmd:sample=1.0-r0', '/bin/sh', 'pc:gtk+-3.0=3.24.1'],
            install_if: 'docs sample=1.0-r0',
            replaces: 'old<2',
          },
        }),
      )
      const strong = requirements.filter((requirement) => requirement.strong)
      expect(strong.map(({ kind, anyOf }) => [kind, ...anyOf])).toEqual([
        ['depend', { name: 'so:libc.musl-x86_64.so.1' }],
        ['depend', { name: 'cmd:[' }],
        ['depend', { name: 'a', op: '<', version: '1' }],
        ['depend', { name: 'b', op: '<=', version: '1.0-r0' }],
        ['depend', { name: 'c', op: '=', version: '1' }],
        ['depend', { name: 'd', op: '>=', version: '1_p2' }],
        ['depend', { name: 'e', op: '>', version: '1' }],
        ['depend', { name: 'f', op: '=', version: '~1.2' }],
        ['depend', { name: 'g', op: '=', version: '~1' }],
        ['depend', { name: 'h', op: '=', version: '1' }],
      ])
      const weak = requirements.filter((requirement) => !requirement.strong)
      expect(weak.map(({ kind, text }) => [kind, text])).toEqual([
        ['install_if', 'docs'],
        ['install_if', 'sample=1.0-r0'],
        ['replaces', 'old<2'],
      ])
      expect(provides).toEqual([
        { name: 'cmd:sample', version: '1.0-r0' },
        { name: '/bin/sh' },
        { name: 'pc:gtk+-3.0', version: '3.24.1' },
      ])
      const conflicting = await read(buildApk({ info: { depend: ['a>2', '!b', '!c<3'] } }))
      expect(conflicting.requirements).toEqual([
        { kind: 'depend', strong: true, anyOf: [{ name: 'a', op: '>', version: '2' }], text: 'a>2' },
        { kind: 'conflict', strong: false, anyOf: [{ name: 'b' }], text: '!b' },
        { kind: 'conflict', strong: false, anyOf: [{ name: 'c', op: '<', version: '3' }], text: '!c<3' },
      ])
    })

    it('refuses a commit hash for distributions with apk-tools 2 only', async () => {
      const distribution = apkFormat.distributions[0]!
      const facts = await read(buildApk({ version: '1.0_git20240101~abc123-r0' }))
      expect(apkFormat.refusal!(facts, distribution)).toBe(
        'the version 1.0_git20240101~abc123-r0 has a commit hash, which needs apk-tools 3; Alpine Linux 3.18 has apk-tools 2',
      )
      expect(apkFormat.refusal!(facts, { ...distribution, packageManagerMajor: 3 })).toBeNull()
      expect(apkFormat.refusal!(await read(buildApk()), distribution)).toBeNull()
    })

    test.each([
      ['1.0.0~rc1', '1.0.0_rc1'],
      ['v1.2', '1.2'],
      ['1.2-3', '1.2-r3'],
      ['1.2-beta.4-r1', '1.2_beta4-r1'],
      ['abc', '1.2.3_rc1-r0'],
    ])('shows the version %s that it refuses, and suggests %s', async (version, suggestion) => {
      await expect(read(buildApk({ version }))).rejects.toThrow(
        `the file .PKGINFO has the pkgver "${version}"; expected a version like ${suggestion}`,
      )
    })

    it('solves requirements as apk does: prefixes by ~, no version without a stated one', async () => {
      const facts = await read(
        buildApk({ info: { depend: ['a~1.2', 'b~1.2', 'c>=1', 'd', '!e'], provides: ['d', 'c'] } }),
      )
      const offers = new Map([
        ['a', [{ version: '1.2.7-r1' }]],
        ['b', [{ version: '1.20-r0' }]],
        ['c', [{ version: null }]],
      ])
      expect(unsatisfied(facts, offers, apkFormat.versions).map(({ text }) => text)).toEqual(['b~1.2', 'c>=1'])
    })

    it('lists links and devices, no directories, names as apk installs them', async () => {
      const long = `${'long/'.repeat(60)}f`
      const { files } = await read(
        withData(
          { name: 'usr/' },
          { name: 'usr//bin/./a', content: 'x' },
          { name: '/etc/b', content: 'x' },
          { name: 'c', type: '2', linkName: '../../elsewhere' },
          { name: 'd', type: '1', linkName: 'c' },
          { name: 'e', type: '3' },
          { name: long, content: 'x' },
        ),
      )
      expect(files).toEqual(['usr/bin/a', 'etc/b', 'c', 'd', 'e', long])
    })

    it('counts the files of a package that claims no size, which apk would install without fetching', async () => {
      for (const size of ['0', null]) {
        const facts = await read(buildApk({ info: { size }, files: { 'usr/a': 'x'.repeat(1500), 'usr/b': 'y' } }))
        expect(facts.record.installedBytes).toBe(1501)
        expect(facts.installedSizeKb).toBe(2)
      }
      expect((await read(buildApk({ info: { size: '0' }, files: {} }))).record.installedBytes).toBe(0)
    })

    it('yields signatures, scripts and files as members', async () => {
      const path = await stored(
        buildApk({
          scripts: { 'post-install': 'exit 0' },
          files: { 'usr/bin/tool': 'program' },
          signatures: [{ key }],
        }),
      )
      const seen: string[] = []
      for await (const member of apkFormat.members(path)) {
        let size = 0
        for await (const piece of member.content) size += piece.length
        expect(size).toBe(member.sizeBytes)
        seen.push(member.name)
      }
      expect(seen).toEqual([`.SIGN.RSA256.${key.name}`, '.PKGINFO', '.post-install', 'usr/bin/tool'])
    })

    it('names the segment that is damaged', async () => {
      const tar = tarEntry({ name: 'usr/x', content: 'y', checksum: 1 })
      const outcome = await read(withTar(tar)).catch((error: unknown) => error)
      expect(isProblem(outcome, 'invalid_package') && outcome.detail).toBe('data: the tar archive is damaged')
    })

    it('ends in a package or a clear problem whatever byte of its archives is changed', async () => {
      const random = seeded(20261122)
      const control = buildTar([pkginfo(), { name: '.post-install', content: 'exit 0\n' }], { end: false })
      const data = buildTar([
        { name: 'usr/' },
        { name: `usr/${'long/'.repeat(25)}a`, content: 'x'.repeat(700) },
        { name: 'usr/b', type: '2', linkName: 'a' },
      ])
      const pax = paxEntry({ 'APK-TOOLS.checksum.SHA1': '0'.repeat(40), path: 'usr/c' })
      const outcomes: Record<string, number> = {}
      for (let round = 0; round < 2000; round++) {
        const archives = [Buffer.from(control), Buffer.concat([pax, data])]
        const target = archives[round % 2]!
        for (let changes = 1 + random(3); changes > 0; changes--) target[random(target.length)] = random(256)
        const dataSegment = gzipSync(archives[1]!, { level: 1 })
        const sha256 = createHash('sha256').update(dataSegment).digest('hex')
        // A mutant must come as far as the part that was changed.
        const mended = archives[0]!.toString('latin1').replace(/datahash = [0-9a-f]{64}/, `datahash = ${sha256}`)
        const path = await stored(Buffer.concat([gzipSync(Buffer.from(mended, 'latin1'), { level: 1 }), dataSegment]))
        const outcome = await apkFormat.read(path).then(
          () => 'package',
          (error: unknown) => (isProblem(error, 'invalid_package') ? 'problem' : String((error as Error).stack)),
        )
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      }
      expect(Object.keys(outcomes).sort()).toEqual(['package', 'problem'])
      expect(outcomes['package']).toBeGreaterThan(100)
    })
  })

  describe('signatures', () => {
    const verify = async (bytes: Uint8Array, keys = [key]) => {
      const { verdict, signature } = await verifySignature(await stored(bytes), keys)
      return `${verdict} ${signature?.keyId ?? '-'} ${signature?.algorithm ?? '-'}`
    }

    it.each([
      ['RSA', 'RSA-SHA1'],
      ['RSA256', 'RSA-SHA256'],
      ['RSA512', 'RSA-SHA512'],
    ] as const)('verifies %s', async (algorithm, name) => {
      expect(await verify(buildApk({ signatures: [{ key, algorithm }] }))).toBe(`signed ${key.name} ${name}`)
    })

    it('uses the first signature by a known key, in any position', async () => {
      const signatures = [{ key: other }, { key }]
      expect(await verify(buildApk({ signatures }))).toBe(`signed ${key.name} RSA-SHA256`)
      expect(await verify(buildApk({ signatures }), [])).toBe(`unverified ${other.name} RSA-SHA256`)
    })

    it('ignores a good signature after a wrong one, as apk does', async () => {
      const signatures = [{ key, content: Buffer.from('other') }, { key: other }]
      expect(await verify(buildApk({ signatures }), [key, other])).toBe(`invalid ${key.name} RSA-SHA256`)
    })

    it('distinguishes unsigned, signed by an unknown key, and signed by another key of a known name', async () => {
      expect(await verify(buildApk())).toBe('unsigned - -')
      expect(await verify(buildApk({ signatures: [{ key: other }] }))).toBe(`unverified ${other.name} RSA-SHA256`)
      const forged = { ...other, name: key.name }
      expect(await verify(buildApk({ signatures: [{ key: forged }] }))).toBe(`invalid ${key.name} RSA-SHA256`)
    })

    it('detects a changed control segment', async () => {
      const signed = buildApk({ signatures: [{ key }] })
      const plain = buildApk()
      const signature = signed.subarray(0, signed.length - plain.length)
      expect(await verify(Buffer.concat([signature, plain]))).toMatch(/^signed/)
      expect(await verify(Buffer.concat([signature, buildApk({ version: '6.6.6-r0' })]))).toMatch(/^invalid/)
    })

    it('refuses a file that is not a package', async () => {
      await expect(verify(Buffer.from('hello'))).rejects.toThrow(/invalid_package/)
      const huge = segment([{ name: `.SIGN.RSA.${key.name}`, content: Buffer.alloc(70_000) }])
      await expect(verify(Buffer.concat([huge, buildApk()]))).rejects.toThrow(/signature is larger/)
    })
  })

  describe('rendering', () => {
    async function pkg(sample: SampleApk = {}): Promise<StoredPackage<ApkRecord>> {
      const facts = await read(buildApk(sample))
      const digests = { sha256: 'ab'.repeat(32), sha512: 'cd'.repeat(64), sha1: 'ef'.repeat(20), md5: '01'.repeat(16) }
      return { facts, filename: apkFormat.filename(facts), sizeBytes: 1234, digests, addedAt: 0 }
    }
    const entry = async (sample: SampleApk = {}) =>
      Buffer.from(apkFormat.entry(await pkg(sample), alpine)['apkindex']!).toString()

    it('writes operators as apk index does', async () => {
      const text = await entry({
        info: { depend: ['a~=1.2', 'b=~1', 'c=>2', 'd=<2', 'e==3', '!f=>4'], provides: 'g==1', replaces: 'h=<5' },
      })
      expect(/^D:(.*)$/m.exec(text)![1]).toBe('a~1.2 b~1 c>=2 d<=2 e=3 !f>=4')
      expect(/^p:(.*)$/m.exec(text)![1]).toBe('g=1')
      expect(/^r:(.*)$/m.exec(text)![1]).toBe('h<=5')
    })

    it('copies blanks around a description to the index, as apk index does', async () => {
      expect(await entry({ info: { pkgdesc: ' a sample ' } })).toContain('\nT: a sample \n')
    })

    it('writes the record that apk reads', async () => {
      const sample: SampleApk = {
        info: {
          commit: 'ab12',
          provider_priority: '10',
          depend: ['a>=1', '!b', 'so:c'],
          provides: 'cmd:sample=1.0-r0',
          install_if: 'x y=1',
          replaces: 'old',
        },
      }
      const sha1 = Buffer.from((await pkg(sample)).facts.record.controlSha1, 'hex').toString('base64')
      expect(await entry(sample)).toBe(
        [
          `C:Q1${sha1}`,
          'P:sample',
          'V:1.0-r0',
          'A:x86_64',
          'S:1234',
          'I:4096',
          'T:a sample package',
          'U:https://example.org/sample',
          'L:MIT',
          'o:sample',
          'm:Sample Maintainer <sample@example.org>',
          't:1700000000',
          'c:ab12',
          'k:10',
          'D:a>=1 !b so:c',
          'p:cmd:sample=1.0-r0',
          'i:x y=1',
          'r:old',
          '',
          '',
        ].join('\n'),
      )
    })

    it('omits empty values', async () => {
      const info = { pkgdesc: null, url: '', license: null, origin: null, maintainer: null, builddate: null }
      expect((await entry({ info })).replace(/^C:.*\n/, '')).toBe('P:sample\nV:1.0-r0\nA:x86_64\nS:1234\nI:4096\n\n')
    })

    it('shortens a description between characters', async () => {
      const text = await entry({ info: { pkgdesc: `x${'ö'.repeat(3000)}` } })
      expect(/^T:(.*)$/m.exec(text)![1]).toBe(`x${'ö'.repeat(255)}`)
      expect(Buffer.byteLength(text)).toBeLessThan(2048)
    })

    it.each([0, 1, 511, 512, 5000])('signs an index of %i bytes that every tar reads', async (size) => {
      const records = Buffer.alloc(size, 'x')
      const calls: number[] = []
      const files = await apkFormat.index({
        distribution: alpine,
        revision: 7,
        date: new Date('2026-11-05T09:08:07Z'),
        architectures: alpine.architectures,
        count: () => 1,
        compose: async (_stream, _arch, head, tail) => {
          calls.push(head.length)
          return composeSample([head, records, tail])
        },
        signers: sampleSigners,
        backgroundIndexes: [],
      })
      expect(files.map((file) => file.path)).toEqual(['x86_64/APKINDEX.tar.gz'])
      const [signature, ...index] = files[0]!.content as Uint8Array[]
      const signed = Buffer.concat(index)
      const sha256 = createHash('sha256').update(signed).digest()
      // Without an end: apk reads on as in one archive.
      expect(gunzipSync(signature!)).toEqual(tarLike('.SIGN.RSA256.svc.rsa.pub', sha256))
      const tar = gunzipSync(signed)
      expect(tar.length % 512).toBe(0)
      expect(tar.subarray(512, 512 + 24).toString()).toBe('Gatehouse alpine3.20 r7\0')
      expect(tar.toString('latin1', 1024, 1032)).toBe('APKINDEX')
      expect(parseInt(tar.toString('latin1', 1024 + 124, 1024 + 135), 8)).toBe(size)
      expect(tar.subarray(1536, 1536 + size).equals(records)).toBe(true)
      expect(tar.subarray(1536 + size).every((byte) => byte === 0)).toBe(true)
      expect(tar.length - 1536 - size).toBeGreaterThanOrEqual(1024)
    })

    it('places package files beside the index of each architecture that has them', () => {
      const both = { ...alpine, architectures: ['x86_64', 'aarch64'] }
      const layout = apkFormat.layout(both)
      expect(layout).toMatchObject({
        link: '.generations/apk/alpine3.20/live',
        standing: [
          { path: 'apk/alpine3.20/main/x86_64/APKINDEX.tar.gz', target: 'x86_64/APKINDEX.tar.gz' },
          { path: 'apk/alpine3.20/main/aarch64/APKINDEX.tar.gz', target: 'aarch64/APKINDEX.tar.gz' },
        ],
        packages: 'apk/alpine3.20/main',
      })
      const file = { filename: 'a-1.apk', sha256: '' }
      expect(apkFormat.packagePaths({ ...file, arch: 'aarch64' }, both)).toEqual(['aarch64/a-1.apk'])
      expect(apkFormat.packagePaths({ ...file, arch: 'noarch' }, both)).toEqual(['x86_64/a-1.apk', 'aarch64/a-1.apk'])
    })

    it('states the architecture of the tree for a noarch package, which apk uses in the address', async () => {
      const noarch = apkFormat.entry(
        await pkg({ arch: 'noarch', info: { pkgdesc: 'A:noarch is what it says' } }),
        alpine,
      )
      const text = Buffer.from(apkFormat.entryIn!(noarch['apkindex']!, 'aarch64')).toString()
      expect(text).toContain('\nA:aarch64\n')
      expect(text).toContain('T:A:noarch is what it says\n')
      const native = apkFormat.entry(await pkg({}), alpine)['apkindex']!
      expect(apkFormat.entryIn!(native, 'aarch64')).toEqual(native)
    })
  })
})

/** One tar entry as the index has it: of root’s, of no time. */
function tarLike(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512)
  header.write(name)
  header.write('0000644\x000000000\x000000000\0', 100, 'latin1')
  header.write(content.length.toString(8).padStart(11, '0'), 124)
  header.write('00000000000\0        0', 136, 'latin1')
  header.write('ustar\x0000root', 257, 'latin1')
  header.write('root', 297)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0`, 148, 'latin1')
  return Buffer.concat([header, tarEntry({ name, content }).subarray(512)])
}

function seeded(seed: number): (below: number) => number {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
}
