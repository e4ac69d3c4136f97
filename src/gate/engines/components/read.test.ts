// Components inside packages: what is read from each ecosystem's files, and what hostile files cannot cause.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildJar, buildZip, type SampleZipEntry } from '../../../../test/samples/zip.ts'
import { invalid } from '../../../formats/archive/limits.ts'
import type { ScanMember } from '../scanner.ts'
import { createLocalFile } from '../../../../test/antivirus/local-file.ts'
import { mayHoldComponent, readComponents, type ComponentLimits, type ComponentsRead } from './read.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'components-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

async function* membersOf(files: Record<string, string | Uint8Array>): AsyncGenerator<ScanMember> {
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content)
    yield {
      name,
      sizeBytes: bytes.length,
      content: (async function* () {
        for (let at = 0; at < bytes.length; at += 60_000) yield bytes.subarray(at, at + 60_000)
      })(),
    }
  }
}

const read = (members: AsyncIterable<ScanMember>, limits?: Partial<ComponentLimits>): Promise<ComponentsRead> =>
  readComponents({
    members,
    filename: 'a.deb',
    createFile: () => createLocalFile(directory),
    ...(limits ? { limits } : {}),
  })
const readFiles = (files: Record<string, string | Uint8Array>, limits?: Partial<ComponentLimits>) =>
  read(membersOf(files), limits)

/** `ecosystem name version path`, with the licence where there is one */
const told = ({ components }: ComponentsRead) =>
  components.map(({ ecosystem, name, version, path, license }) =>
    [ecosystem, name, version, path, ...(license ? [license] : [])].join(' '),
  )

const json = (value: unknown) => JSON.stringify(value)
const MODULE = 'opt/a/node_modules/left-pad/package.json'
const METADATA = 'usr/lib/python3/site-packages/six-1.0.dist-info/METADATA'

describe('a file that names a component is read', () => {
  it.each<[string, string, string | Uint8Array, string[]]>([
    [
      'a module',
      MODULE,
      json({ name: 'left-pad', version: '1.3.0', license: 'MIT' }),
      [`npm left-pad 1.3.0 ${MODULE} MIT`],
    ],
    [
      'a module of a scope',
      'node_modules/@a/b/package.json',
      json({ name: '@a/b', version: 'v2.0.0-rc.1+x', licenses: [{ type: 'BSD' }] }),
      ['npm @a/b 2.0.0-rc.1+x node_modules/@a/b/package.json BSD'],
    ],
    [
      'a module of pnpm',
      'x/node_modules/.pnpm/a@1/node_modules/a/package.json',
      json({ name: 'a', version: '1.0.0' }),
      ['npm a 1.0.0 x/node_modules/.pnpm/a@1/node_modules/a/package.json'],
    ],
    [
      'an alias, under its own name',
      'node_modules/alias/package.json',
      json({ name: 'real', version: '1.0.0' }),
      ['npm real 1.0.0 node_modules/alias/package.json'],
    ],
    ['a file inside a module', 'node_modules/a/lib/package.json', json({ name: 'b', version: '1.0.0' }), []],
    ['an application of its own', 'opt/app/package.json', json({ name: 'b', version: '1.0.0' }), []],
    [
      'a project of a wheel',
      METADATA,
      'Metadata-Version: 2.1\r\nName: six\r\nVersion: 1.0\r\nLicense-Expression: MIT\r\nLicense: other\r\n\r\nVersion: 2.0\r\n',
      [`PyPI six 1.0 ${METADATA} MIT`],
    ],
    [
      'a project of setuptools',
      'lib/Foo.egg-info/PKG-INFO',
      'Name: Foo\nVersion: 1!2.0.post1\nLicense: UNKNOWN\n',
      ['PyPI Foo 1!2.0.post1 lib/Foo.egg-info/PKG-INFO'],
    ],
    ['a project of distutils', 'lib/Foo-1.egg-info', 'Name: Foo\nVersion: 1\n', ['PyPI Foo 1 lib/Foo-1.egg-info']],
    [
      'a project with a long description',
      METADATA,
      `Name: six\nVersion: 1.0\n\n${'x'.repeat(300_000)}`,
      [`PyPI six 1.0 ${METADATA}`],
    ],
    ['another METADATA', 'usr/share/METADATA', 'Name: six\nVersion: 1.0\n', []],
    [
      'a jar',
      'usr/share/java/a.jar',
      buildJar('org.a', 'b', '1.0-jre'),
      ['Maven org.a:b 1.0-jre usr/share/java/a.jar'],
    ],
    [
      'a shaded jar',
      'a.jar',
      buildJar('org.a', 'b', '1', [{ name: 'META-INF/maven/org.c/d/pom.properties', content: 'version = 2\n' }]),
      ['Maven org.a:b 1 a.jar', 'Maven org.c:d 2 a.jar'],
    ],
    [
      'a jar behind a script',
      'a.jar',
      Buffer.concat([Buffer.from('#!/bin/sh\nexec java -jar "$0"\n'), buildJar('org.a', 'b', '1')]),
      ['Maven org.a:b 1 a.jar'],
    ],
    [
      'jars in a war, packed and stored',
      'a.war',
      buildZip([
        { name: 'WEB-INF/lib/x.jar', content: buildJar('x', 'x', '1') },
        { name: 'WEB-INF/lib/y.jar', content: buildJar('y', 'y', '2'), stored: true },
      ]),
      ['Maven x:x 1 a.war!/WEB-INF/lib/x.jar', 'Maven y:y 2 a.war!/WEB-INF/lib/y.jar'],
    ],
    ['a jar that says nothing of itself', 'a.jar', buildZip([{ name: 'A.class', content: 'x' }]), []],
  ])('%s', async (_, path, content, expected) => {
    const result = await readFiles({ [path]: content })
    expect(told(result)).toEqual(expected)
    expect(result.skipped).toEqual([])
    expect(mayHoldComponent(path)).toBe(result.filesSeen === 1)
  })

  it('lists a component that is found twice once per version', async () => {
    const of = (version: string) => json({ name: 'a', version })
    const result = await readFiles({
      'x/node_modules/a/package.json': of('1.0.0'),
      'y/node_modules/a/package.json': of('1.0.0'),
      'z/node_modules/a/package.json': of('2.0.0'),
    })
    expect(told(result)).toEqual([
      'npm a 1.0.0 x/node_modules/a/package.json',
      'npm a 2.0.0 z/node_modules/a/package.json',
    ])
  })

  it('reads an archive too large for memory from disk, and removes the file afterwards', async () => {
    const result = await readFiles(
      { 'a.jar': buildJar('a', 'b', '1', [{ name: 'noise', content: Buffer.alloc(200_000, 'x'), stored: true }]) },
      { mostInMemoryBytes: 1000 },
    )
    expect(told(result)).toEqual(['Maven a:b 1 a.jar'])
    expect(readdirSync(directory)).toEqual([])
  })
})

describe('a malformed or hostile file is reported, and the rest is read', () => {
  const many = (count: number): SampleZipEntry[] =>
    Array.from({ length: count }, (_, n) => ({ name: `f${n}`, content: '', stored: true }))
  const zeros = Buffer.alloc(30 * 1024 ** 2)
  it.each<[string, string, () => string | Uint8Array, string, string]>([
    ['no JSON', MODULE, () => '{', MODULE, 'is not valid JSON'],
    ['JSON of another kind', MODULE, () => 'null', MODULE, 'names no package or no version'],
    ['no version', MODULE, () => json({ name: 'a' }), MODULE, 'names no package or no version'],
    [
      'a name with signs that a database refuses',
      MODULE,
      () => json({ name: 'a\0b', version: '1.0.0' }),
      MODULE,
      'has a name that its ecosystem does not allow',
    ],
    [
      'a name that leads elsewhere',
      MODULE,
      () => json({ name: '../../etc', version: '1.0.0' }),
      MODULE,
      'has a name that its ecosystem does not allow',
    ],
    [
      'half a character',
      MODULE,
      () => '{"name":"a","version":"\\ud800"}',
      MODULE,
      'has a version that its ecosystem does not allow',
    ],
    [
      'a huge manifest',
      MODULE,
      () => json({ name: 'a', version: '1', x: 'x'.repeat(2 ** 20) }),
      MODULE,
      'is larger than 1048576 bytes',
    ],
    [
      'a version that nobody filled in',
      'a.jar',
      () => buildJar('a', 'b', '${project.version}'),
      'a.jar!/META-INF/maven/a/b/pom.properties',
      'has a version that its ecosystem does not allow',
    ],
    [
      'a line of spaces',
      'a.jar',
      () => buildJar('a', 'b', `1${' '.repeat(60_000)}x`),
      'a.jar!/META-INF/maven/a/b/pom.properties',
      'has a version that its ecosystem does not allow',
    ],
    ['no archive', 'a.jar', () => 'text', 'a.jar', 'not a zip archive, or cut short'],
    ['nothing', 'a.jar', () => '', 'a.jar', 'not a zip archive, or cut short'],
    [
      'an archive cut short',
      'a.jar',
      () => buildJar('a', 'b', '1').subarray(0, 150),
      'a.jar',
      'not a zip archive, or cut short',
    ],
    [
      'an archive without its beginning',
      'a.jar',
      () => buildJar('a', 'b', '1').subarray(50),
      'a.jar',
      'the archive is cut short',
    ],
    [
      'more files than its directory can count',
      'a.jar',
      () => buildZip(many(70_000)),
      'a.jar',
      'the directory does not hold as many files as it says',
    ],
    [
      'coordinates of any size',
      'a.jar',
      () => buildZip([{ name: 'META-INF/maven/a/b/pom.properties', content: Buffer.alloc(10 ** 6) }]),
      'a.jar!/META-INF/maven/a/b/pom.properties',
      'is larger than 65536 bytes',
    ],
    [
      'coordinates larger than they say',
      'a.jar',
      () =>
        buildZip([{ name: 'META-INF/maven/a/b/pom.properties', content: Buffer.alloc(10 ** 7), size: 100_000 / 2 }]),
      'a.jar',
      'META-INF/maven/a/b/pom.properties cannot be decompressed',
    ],
    [
      'a packed archive of any size',
      'a.war',
      () => buildZip([{ name: 'x.jar', content: Buffer.alloc(33 * 1024 ** 2) }]),
      'a.war!/x.jar',
      'is packed and larger than 33554432 bytes',
    ],
    [
      'much in little',
      'a.war',
      () => buildZip(Array.from({ length: 4 }, (_, n) => ({ name: `${n}.jar`, content: zeros }))),
      'a.war',
      expect.stringMatching(/^the archives of the package unpack to more than \d+ bytes$/),
    ],
    [
      'archives without end',
      'a.war',
      () =>
        buildZip(Array.from({ length: 2001 }, (_, n) => ({ name: `${n}.jar`, content: buildZip([]), stored: true }))),
      'a.war',
      'holds more than 2000 archives',
    ],
    [
      'an archive in an archive in an archive',
      'a.ear',
      () => buildZip([{ name: 'b.war', content: buildZip([{ name: 'c.jar', content: buildJar('a', 'b', '1') }]) }]),
      'a.ear!/b.war!/c.jar',
      'is an archive in an archive in an archive',
    ],
  ])('%s', async (_, path, content, name, reason) => {
    const result = await readFiles({
      [path]: content(),
      'node_modules/good/package.json': json({ name: 'good', version: '1.0.0' }),
    })
    expect(result.skipped).toContainEqual({ name, reason })
    expect(told(result)).toContain('npm good 1.0.0 node_modules/good/package.json')
  })

  it('skips an archive with more entries than the limit', async () => {
    const { skipped } = await readFiles({ 'a.jar': buildZip(many(11)) }, { mostEntries: 10 })
    expect(skipped).toEqual([{ name: 'a.jar', reason: 'it holds 11 files, more than 10 are not read' }])
  })

  it('120 nested bombs of 11 KB end within the budget of one package, and what follows them is read', async () => {
    const bomb = buildZip([{ name: 'x.jar', content: Buffer.alloc(30 * 1024 ** 2) }])
    const files = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`opt/${n}.jar`, bomb]))
    const { components, skipped } = await readFiles(
      { ...files, [MODULE]: json({ name: 'a', version: '1.0.0' }) },
      { freeUnpackedBytes: 1024 ** 2 },
    )
    expect(components).toHaveLength(1)
    expect(skipped).toHaveLength(101)
    for (const { reason } of skipped.slice(0, 100))
      expect(reason).toMatch(/^the archives of the package unpack to more/)
  })

  it('archives beyond the time of one package are skipped', async () => {
    const jar = buildJar('a', 'b', '1')
    const { components, skipped } = await readFiles({ 'a.jar': jar, 'b.jar': jar }, { mostMilliseconds: -1 })
    expect(components).toEqual([])
    expect(skipped).toMatchObject([{ name: 'a.jar' }, { name: 'b.jar' }])
  })

  it('survives a damaged byte at any place of an archive', async () => {
    const sound = buildZip([
      { name: 'x.jar', content: buildJar('a', 'b', '1'), stored: true },
      { name: 'META-INF/maven/c/d/pom.properties', content: 'version=1\n' },
    ])
    for (let at = 0; at < sound.length; at++) {
      const damaged = Buffer.from(sound)
      damaged[at]! ^= 0xff
      const { components, skipped } = await readFiles({ 'a.jar': damaged })
      expect(components.length + skipped.length, `byte ${at}`).toBeLessThan(5)
    }
  })

  it('counts components and skipped files beyond the limits', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 150 }, (_, n) => [
        `${n}/node_modules/m/package.json`,
        n < 30 ? json({ name: `m${n}`, version: '1.0.0' }) : '{',
      ]),
    )
    const { components, skipped } = await readFiles(files, { mostComponents: 10 })
    expect(components).toHaveLength(10)
    expect(skipped).toHaveLength(102)
    expect(skipped.slice(-2)).toEqual([
      { name: '20 more', reason: 'not listed one by one' },
      { name: '20 more components', reason: "a package's first 10 are kept" },
    ])
  })

  it('keeps what it read before a package breaks off', async () => {
    async function* broken() {
      yield* membersOf({ [MODULE]: json({ name: 'a', version: '1.0.0' }) })
      throw invalid('The tar archive is truncated.')
    }
    const result = await read(broken())
    expect(told(result)).toHaveLength(1)
    expect(result.skipped).toEqual([
      { name: 'a.deb', reason: 'could not be read to its end: The tar archive is truncated.' },
    ])
  })

  it('throws when the disk fails', async () => {
    async function* failing(): AsyncGenerator<ScanMember> {
      throw Object.assign(new Error('EIO'), { code: 'EIO' })
    }
    await expect(read(failing())).rejects.toThrow('EIO')
  })

  it('does not read members that hold no component', async () => {
    let opened = 0
    async function* members(): AsyncGenerator<ScanMember> {
      for (let n = 0; n < 3; n++)
        yield {
          name: `usr/bin/${n}`,
          sizeBytes: 5,
          content: { [Symbol.asyncIterator]: () => (opened++, deflateRawSync('x') as never) },
        }
    }
    expect(await read(members())).toMatchObject({ filesSeen: 0, bytes: 0 })
    expect(opened).toBe(0)
  })
})
