import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { composeSample, sampleSigners } from '../../../test/conformance.ts'
import { buildRpm, i18n, type SampleRpm } from '../../../test/samples/rpm.ts'
import type { StoredPackage } from '../../domain/package.ts'
import type { IndexFile } from '../format.ts'
import { rpmFormat } from './index.ts'
import type { RpmRecord } from './read.ts'

const almalinux = rpmFormat.distributions.find(({ codename }) => codename === 'almalinux9')!

describe('repodata', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'rpm-render-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  async function stored(sample: SampleRpm): Promise<StoredPackage<RpmRecord>> {
    const bytes = await buildRpm(sample)
    const path = join(directory, 'sample.rpm')
    await writeFile(path, bytes)
    const facts = await rpmFormat.read(path)
    const digest = (kind: string) => createHash(kind).update(bytes).digest('hex')
    return {
      facts,
      filename: rpmFormat.filename(facts),
      sizeBytes: bytes.length,
      digests: { sha256: digest('sha256'), sha512: digest('sha512'), sha1: digest('sha1'), md5: digest('md5') },
      addedAt: 1_750_000_000,
    }
  }

  const entryOf = async (sample: SampleRpm, stream: string): Promise<string> =>
    Buffer.from(rpmFormat.entry(await stored(sample), almalinux)[stream]!).toString()

  async function index(samples: SampleRpm[]): Promise<Map<string, IndexFile & { text: string }>> {
    const entries: Record<string, Uint8Array>[] = []
    for (const sample of samples) entries.push(rpmFormat.entry(await stored(sample), almalinux))
    const files = await rpmFormat.index({
      distribution: almalinux,
      revision: 42,
      date: new Date('2026-11-21T11:00:00Z'),
      architectures: almalinux.architectures,
      count: () => entries.length,
      compose: async (stream, _arch, head, tail) =>
        composeSample([head, ...entries.map((entry) => entry[stream]!), tail]),
      signers: sampleSigners,
      backgroundIndexes: [],
    })
    return new Map(
      files.map((file) => {
        const content = Buffer.concat(Array.isArray(file.content) ? file.content : [file.content as Uint8Array])
        return [file.path, { ...file, text: (file.path.endsWith('.gz') ? gunzipSync(content) : content).toString() }]
      }),
    )
  }

  it('names every file of a generation with its digest and sizes', async () => {
    const files = await index([{ name: 'a' }, { name: 'b' }])
    const repomd = files.get('x86_64/repodata/repomd.xml')!.text
    expect(repomd).toContain('<revision>42</revision>')
    for (const [stream, element] of [
      ['primary', 'metadata'],
      ['filelists', 'filelists'],
      ['other', 'otherdata'],
    ]) {
      const data = new RegExp(`<data type="${stream}">[^]*?</data>`).exec(repomd)![0]
      const href = /<location href="([^"]+)"\/>/.exec(data)![1]!
      const file = files.get(`x86_64/${href}`)!
      const content = Buffer.concat(file.content as Uint8Array[])
      const sha256 = createHash('sha256').update(content).digest('hex')
      expect(href).toBe(`repodata/${sha256}-${stream}.xml.gz`)
      expect(file.byHash).toBe(`${sha256}-${stream}.xml.gz`)
      expect(data).toContain(`<checksum type="sha256">${sha256}</checksum>`)
      expect(data).toContain(`<size>${content.length}</size>`)
      expect(data).toContain(`<open-size>${Buffer.byteLength(file.text)}</open-size>`)
      expect(data).toContain('<timestamp>1795258800</timestamp>')
      expect(file.text).toMatch(
        new RegExp(`^<\\?xml [^]+<${element} [^>]*packages="2">\n<package [^]+</${element}>\n$`),
      )
    }
  })

  it('puts the signed list last, after its signature', async () => {
    const files = await index([])
    expect([...files.keys()].slice(-3)).toEqual([
      'x86_64/repodata/repomd.xml.key',
      'x86_64/repodata/repomd.xml.asc',
      'x86_64/repodata/repomd.xml',
    ])
    const digest = createHash('sha256').update(files.get('x86_64/repodata/repomd.xml')!.text).digest('hex')
    expect(files.get('x86_64/repodata/repomd.xml.asc')!.text).toContain(digest)
  })

  it('is at the address that clients use', () => {
    expect(rpmFormat.layout(almalinux)).toMatchObject({
      link: 'rpm/almalinux9',
      packages: null,
      packagesIn: ['x86_64/Packages'],
    })
  })

  it('states the location of the file below the package directory', async () => {
    const pkg = await stored({ name: 'c++x', version: '1^git~1' })
    const href = /href="([^"]+)"/.exec(Buffer.from(rpmFormat.entry(pkg, almalinux).primary!).toString())![1]
    const { packagesName } = rpmFormat.layout(almalinux)
    expect(href).toBe(
      `${packagesName}/${rpmFormat.packagePaths({ filename: pkg.filename, sha256: pkg.digests.sha256, arch: 'x86_64' }, almalinux)[0]}`,
    )
    expect(href).toMatch(/^Packages\/[0-9a-f]{2}\/[0-9a-f]{16}\/c\+\+x-1\^git~1-1\.x86_64\.rpm$/)
  })

  it('states when the file was added and when it was built', async () => {
    expect(await entryOf({}, 'primary')).toContain('<time file="1750000000" build="1700000000"/>')
  })

  it('escapes text, and removes characters that XML cannot hold', async () => {
    const primary = await entryOf({ tags: { 1004: i18n('a < b & "c"\r\u0001\u001b\ufffe € 😀') } }, 'primary')
    expect(primary).toContain('<summary>a &lt; b &amp; "c"&#13; € 😀</summary>')
  })

  it('omits requirements that rpm, the package itself or an equal requirement satisfies', async () => {
    const primary = await entryOf(
      {
        provides: ['own = 1', 'other'],
        requires: [
          'own = 1',
          'own = 2',
          'other',
          'twin',
          'twin',
          '/usr/bin/own',
          '/opt/own',
          'libc.so.6(GLIBC_2.4)',
          'libc.so.6(GLIBC_2.34)',
          { text: 'early', flags: 1 << 9 },
        ],
        files: [
          { path: '/usr/bin/own', content: 'x' },
          { path: '/opt/own', content: 'x' },
        ],
      },
      'primary',
    )
    const requires = /<rpm:requires>([^]*)<\/rpm:requires>/.exec(primary)![1]!.trim().split(/\n\s*/)
    expect(requires).toEqual([
      '<rpm:entry name="own" flags="EQ" epoch="0" ver="2"/>',
      '<rpm:entry name="twin"/>',
      '<rpm:entry name="/opt/own"/>',
      '<rpm:entry name="early" pre="1"/>',
      '<rpm:entry name="libc.so.6(GLIBC_2.34)"/>',
    ])
  })

  it('lists in primary the files that others may require, and all in filelists', async () => {
    const files: SampleRpm['files'] = [
      { path: '/etc/x', kind: 'directory' },
      { path: '/usr/sbin/x', content: '' },
      { path: '/usr/share/x', content: '' },
      { path: '/etc/ghost', kind: 'ghost' },
    ]
    const lines = (text: string) => [...text.matchAll(/<file[^]*?<\/file>/g)].map(([line]) => line)
    const primary = [
      '<file type="dir">/etc/x</file>',
      '<file>/usr/sbin/x</file>',
      '<file type="ghost">/etc/ghost</file>',
    ]
    expect(lines(await entryOf({ files }, 'primary'))).toEqual(primary)
    expect(lines(await entryOf({ files }, 'filelists'))).toEqual([
      ...primary.slice(0, 2),
      '<file>/usr/share/x</file>',
      primary[2],
    ])
  })

  it('lists a long list of files as it lists a short one', async () => {
    const few: NonNullable<SampleRpm['files']> = [
      { path: '/etc/x', kind: 'directory' },
      { path: '/usr/sbin/x', content: '' },
      { path: '/etc/ghost', kind: 'ghost' },
      { path: '/var/x', kind: 'directory' },
    ]
    const long: typeof few = Array.from({ length: 700 }, (_, n) => ({
      path: `/usr/share/${n}/${'x'.repeat(100)}`,
      kind: 'ghost',
    }))
    for (const stream of ['primary', 'filelists'] as const) {
      const lines = async (files: typeof few) =>
        (await entryOf({ files, requires: ['/usr/sbin/x', '/usr/sbin/y'] }, stream)).match(
          /<(file|rpm:entry)[^]*?>(?=\n)/g,
        )
      const expected = await lines(few)
      const found = await lines([...few.slice(0, 2), ...long, ...few.slice(2)])
      expect(found!.filter((line) => !line.includes('xxx'))).toEqual(expected)
      if (stream === 'filelists') expect(found!.length - expected!.length).toBe(700)
    }
  })

  it('lists the ten newest changelog entries, oldest first, with distinct times', async () => {
    const changelogs = Array.from({ length: 14 }, (_, index) => ({
      time: 1_700_000_000,
      author: 'A',
      text: String(index),
    }))
    const other = await entryOf({ changelogs }, 'other')
    const found = [...other.matchAll(/date="(\d+)">(\d+)</g)].map(([, date, text]) => [Number(date), Number(text)])
    expect(found).toEqual(Array.from({ length: 10 }, (_, index) => [1_700_000_000 + index, 9 - index]))
  })
})
