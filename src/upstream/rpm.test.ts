import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { compressSample } from '../../test/samples/compress.ts'
import {
  createBench,
  createKey,
  problemOf,
  readCatalog,
  sha256,
  startServer,
  type Bench,
  type FakeServer,
  type TestKey,
} from './fixture.ts'
import { createHttpClient } from '../kernel/http-client.ts'
import type { UpstreamDeps, UpstreamSource } from './source.ts'

let bench: Bench
let server: FakeServer
let key: TestKey
let foreign: TestKey

beforeAll(async () => {
  bench = await createBench()
  server = await startServer({})
  key = await createKey()
  foreign = await createKey()
})
afterEach(async () => {
  server.intercept = null
  expect(await bench.leftovers()).toEqual([])
})
afterAll(async () => {
  await server.close()
  await bench.close()
})

const open = (changes: Partial<UpstreamSource> = {}, deps?: Partial<UpstreamDeps>) =>
  bench.open(
    { type: 'rpm', url: server.url, keys: [{ name: null, text: key.publicKey }], allowUnsigned: false, ...changes },
    deps,
  )

const PACKAGE = `<package type="rpm"><name>hello</name><arch>x86_64</arch><version epoch="1" ver="2.10" rel="3.el9"/>
<checksum type="sha256" pkgid="YES">${sha256('content')}</checksum><summary>greets &amp; more</summary>
<description>ignored ${'x'.repeat(70_000)}</description><packager>A</packager><url>https://example.org/</url>
<time file="1" build="2"/><size package="7" installed="2048" archive="9"/><location href="Packages/h/hello-2.10-3.el9.x86_64.rpm"/>
<format><rpm:license>MIT</rpm:license><rpm:vendor/><rpm:group>Tools</rpm:group><rpm:sourcerpm>hi-2.10-3.el9.src.rpm</rpm:sourcerpm>
<rpm:provides><rpm:entry name="hello" flags="EQ" epoch="1" ver="2.10" rel="3.el9"/><rpm:entry name="greeter"/></rpm:provides>
<rpm:requires><rpm:entry name="libc.so.6(GLIBC_2.34)(64bit)"/><rpm:entry name="bash" flags="GE" epoch="0" ver="5"/>
<rpm:entry name="(a or b &gt;= 2)"/></rpm:requires><rpm:conflicts><rpm:entry name="old" flags="LT" epoch="0" ver="1" rel="2"/></rpm:conflicts>
<file>/usr/bin/hello</file><file type="dir">/etc/hello</file></format></package>`

const primaryOf = (...packages: string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<metadata xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm" packages="${packages.length}">${packages.join('\n')}</metadata>`

interface Listed {
  primary?: string
  compressed?: Buffer
  checksum?: string
  size?: number
  openSize?: number
  location?: string
  timestamp?: number
}

function repomdOf(listed: Listed): { repomd: string; path: string; compressed: Buffer } {
  const { primary = primaryOf(PACKAGE) } = listed
  const compressed = listed.compressed ?? gzipSync(primary)
  const path = 'repodata/primary.xml.gz'
  const repomd = `<?xml version="1.0"?><repomd xmlns="http://linux.duke.edu/metadata/repo"><revision>1</revision>
<data type="filelists"><location href="repodata/filelists.xml.gz"/></data>
<data type="primary">${listed.checksum ?? `<checksum type="sha256">${sha256(compressed)}</checksum>`}
<open-checksum type="sha256">0</open-checksum>${listed.location ?? `<location href="${path}"/>`}
<timestamp>${listed.timestamp ?? 1_700_000_000}</timestamp><size>${listed.size ?? compressed.length}</size>
<open-size>${listed.openSize ?? Buffer.byteLength(primary)}</open-size></data></repomd>`
  return { repomd, path, compressed }
}

async function publish(listed: Listed = {}, signer = key): Promise<void> {
  const { repomd, path, compressed } = repomdOf(listed)
  server.files = {
    'repodata/repomd.xml': repomd,
    'repodata/repomd.xml.asc': await signer.detached(repomd),
    [path]: compressed,
  }
  server.log = []
}

describe('an rpm repository', () => {
  test('is read with its facts', async () => {
    await publish()
    const { entries, unreadable, signedBy } = await readCatalog(await open())
    expect(unreadable).toEqual([])
    expect(signedBy).toEqual([key.fingerprint])
    expect(entries).toEqual([
      {
        format: 'rpm',
        name: 'hello',
        version: '1:2.10-3.el9',
        arch: 'x86_64',
        section: 'Tools',
        description: 'greets & more',
        maintainer: 'A',
        license: 'MIT',
        url: 'https://example.org/',
        sourcePackage: 'hi',
        sourceVersion: null,
        installedSizeKb: 2,
        requirements: [
          {
            kind: 'requires',
            strong: true,
            anyOf: [{ name: 'libc.so.6(GLIBC_2.34)(64bit)' }],
            text: 'libc.so.6(GLIBC_2.34)(64bit)',
          },
          { kind: 'requires', strong: true, anyOf: [{ name: 'bash', op: '>=', version: '5' }], text: 'bash >= 5' },
          {
            kind: 'requires',
            strong: true,
            anyOf: [{ name: 'a' }, { name: 'b', op: '>=', version: '2' }],
            text: '(a or b >= 2)',
            whole: '(a or b >= 2)',
          },
          { kind: 'conflicts', strong: false, anyOf: [{ name: 'old', op: '<', version: '1-2' }], text: 'old < 1-2' },
        ],
        provides: [
          { name: 'hello', version: '1:2.10-3.el9' },
          { name: 'greeter' },
          { name: '/usr/bin/hello' },
          { name: '/etc/hello' },
        ],
        files: ['usr/bin/hello'],
        path: 'Packages/h/hello-2.10-3.el9.x86_64.rpm',
        sizeBytes: 7,
        digest: { algorithm: 'sha256', hex: sha256('content') },
      },
    ])
  })

  test.each(['gz', 'xz', 'zst', 'none'] as const)('is read with a primary compressed as %s', async (kind) => {
    await publish({ compressed: await compressSample(Buffer.from(primaryOf(PACKAGE)), kind) })
    expect((await readCatalog(await open())).entries).toHaveLength(1)
  })

  test('that is unchanged costs one conditional request', async () => {
    await publish()
    const upstream = await open()
    const { seen } = await readCatalog(upstream)
    server.log = []
    expect(await upstream.check(seen)).toEqual({ state: 'unchanged', seen, signedBy: null, notCarried: null })
    expect(server.log).toEqual(['repodata/repomd.xml 304'])
  })

  test('without a signature is read only when the source allows it', async () => {
    await publish()
    delete server.files['repodata/repomd.xml.asc']
    expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'unsigned' } })
    for (const unsigned of [{ keys: [], allowUnsigned: true }, { allowUnsigned: true }])
      expect((await readCatalog(await open(unsigned))).entries).toHaveLength(1)
  })

  test('that was signed is refused without its signature, unless it is another one', async () => {
    await publish()
    const { seen } = await readCatalog(await open())
    await publish({ timestamp: 1_700_000_001, primary: primaryOf(PACKAGE, PACKAGE) })
    delete server.files['repodata/repomd.xml.asc']
    const upstream = await open({ allowUnsigned: true })
    const before = { ...seen, signed: true }
    expect(await problemOf(upstream.check(before))).toMatchObject({
      ...{ code: 'upstream_error', extra: { reason: 'unsigned' } },
      detail: expect.stringMatching(/was signed before/),
    })
    for (const other of [
      { ...before, signed: false },
      { ...before, origin: 'elsewhere' },
    ])
      expect(await upstream.check(other)).toMatchObject({ state: 'changed', signedBy: [] })
  })

  describe('with more than packages', async () => {
    const MODULES = '---\ndocument: modulemd-defaults\n---\ndocument: modulemd\n---\ndocument: modulemd\n'
    const UPDATES = `<updates>${'<update from="a"><id>A</id></update>'.repeat(30_000)}</updates>`
    const BESIDE: Record<string, Buffer | string> = {
      modules: await compressSample(Buffer.from(MODULES), 'zst'),
      group: '<comps><group><id>a</id></group><grouplist><groupid>a</groupid></grouplist></comps>',
      updateinfo: gzipSync(UPDATES),
      productid: 'a certificate',
    }

    async function publishBeside(sizeOf = (content: Buffer | string) => content.length): Promise<void> {
      const { repomd, path, compressed } = repomdOf({})
      const data = Object.entries(BESIDE).map(
        ([type, content]) =>
          `<data type="${type}"><location href="repodata/${type}"/><size>${sizeOf(content)}</size></data>`,
      )
      const all = repomd.replace('</repomd>', `${data.join('')}</repomd>`)
      const files = Object.entries(BESIDE).map(([type, content]) => [`repodata/${type}`, content] as const)
      server.files = {
        'repodata/repomd.xml': all,
        'repodata/repomd.xml.asc': await key.detached(all),
        [path]: compressed,
        ...Object.fromEntries(files),
      }
    }
    const notCarried = async () => {
      const checked = await (await open()).check(null)
      if (checked.state === 'unchanged') throw new Error('unchanged')
      return Object.fromEntries(checked.notCarried.map(({ what, count }) => [what, count]))
    }

    test('says what of it is not carried', async () => {
      await publishBeside()
      expect(await notCarried()).toEqual({ modules: 2, groups: 1, advisories: 30_000, products: null })
    })

    test.each<[string, () => void]>([
      ['is missing', () => delete server.files['repodata/modules']],
      ['is no archive', () => (server.files['repodata/modules'] = gzipSync(MODULES).subarray(0, 20))],
      [
        'is forbidden',
        () =>
          (server.intercept = (_, response, path) =>
            path === 'repodata/modules' && Boolean(response.writeHead(403).end())),
      ],
      ['is larger than listed', () => (server.files['repodata/modules'] = Buffer.alloc(9 * 1024 ** 2))],
    ])('is read although a file that %s is not counted', async (_, damage) => {
      await publishBeside()
      damage()
      expect(await notCarried()).toEqual({ modules: null, groups: 1, advisories: 30_000, products: null })
    })

    test('does not fetch what is too large to be counted', async () => {
      await publishBeside(() => 9 * 1024 ** 2)
      server.log = []
      expect(await notCarried()).toEqual({ modules: null, groups: null, advisories: null, products: null })
      expect(server.log).toEqual(['repodata/repomd.xml 200', 'repodata/repomd.xml.asc 200'])
    })
  })

  test('signed by a foreign key, or with a changed byte, is refused', async () => {
    await publish({}, foreign)
    expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'signature' } })
    await publish()
    server.files['repodata/repomd.xml'] = String(server.files['repodata/repomd.xml']).replace(
      '<revision>1',
      '<revision>2',
    )
    expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'signature' } })
  })

  test('older than one that was seen is refused', async () => {
    await publish()
    const upstream = await open()
    const { seen } = await readCatalog(upstream)
    await publish({ timestamp: 1_699_999_999 })
    expect(await problemOf(upstream.check(seen))).toMatchObject({ extra: { reason: 'rollback' } })
  })

  test.each<[string, Listed, string, string?]>([
    ['of another digest', { checksum: `<checksum type="sha256">${sha256('')}</checksum>` }, 'checksum_mismatch'],
    [
      'with a SHA-1 only',
      { checksum: `<checksum type="sha">${'0'.repeat(40)}</checksum>` },
      'upstream_error',
      'malformed',
    ],
    ['that unpacks to more than listed', { openSize: 100 }, 'upstream_error', 'too_large'],
    ['that unpacks to less than listed', { openSize: 1_000_000 }, 'upstream_error', 'malformed'],
    ['outside its tree', { location: '<location href="../../primary.xml.gz"/>' }, 'upstream_error', 'path'],
    ['of another host', { location: '<location xml:base="http://other/" href="p.xml.gz"/>' }, 'upstream_error', 'path'],
    [
      'with a document type',
      { primary: `<!DOCTYPE metadata [<!ENTITY a "b">]>${primaryOf('')}` },
      'upstream_error',
      'malformed',
    ],
    ['with an entity', { primary: primaryOf(PACKAGE.replace('greets', '&lol;')) }, 'upstream_error', 'malformed'],
    ['that is cut off', { primary: primaryOf(PACKAGE).slice(0, -20) }, 'upstream_error', 'malformed'],
    ['of another kind', { primary: '<other/>' }, 'upstream_error', 'malformed'],
    [
      'that is not UTF-8',
      { compressed: gzipSync(Buffer.from('<metadata>\xff</metadata>', 'latin1')), openSize: 22 },
      'upstream_error',
      'malformed',
    ],
    [
      'with a package that has an MD5 only',
      {
        primary: primaryOf(
          PACKAGE.replace(/<checksum .*<\/checksum>/, `<checksum type="md5">${'0'.repeat(32)}</checksum>`),
        ),
      },
      'upstream_error',
      'malformed',
    ],
    [
      'with a package without a size',
      { primary: primaryOf(PACKAGE.replace('package="7"', '')) },
      'upstream_error',
      'malformed',
    ],
    [
      'that unpacks 1000:1',
      { primary: `<metadata>${' '.repeat(80 * 1024 * 1024)}</metadata>` },
      'upstream_error',
      'malformed',
    ],
  ])('with a primary %s is refused', async (_, listed, code, reason) => {
    await publish(listed)
    const problem = await problemOf(readCatalog(await open()))
    expect(problem).toMatchObject({ code, ...(reason ? { extra: { reason } } : {}) })
  })

  test.each([10, 100_000])(
    'with a primary of another size than listed (%d) and the right digest is read',
    async (size) => {
      await publish({ size })
      expect((await readCatalog(await open())).entries).toHaveLength(1)
    },
  )

  test('is not read further than 32 MiB where its primary is larger than listed', async () => {
    await publish({ size: 10, compressed: Buffer.alloc(33 * 1024 ** 2) })
    expect(await problemOf(readCatalog(await open()))).toMatchObject({
      code: 'upstream_error',
      extra: { reason: 'too_large' },
    })
  })

  describe('with a package elsewhere', () => {
    const elsewhere = (attributes: string) =>
      primaryOf(PACKAGE.replace(/<location [^>]*>/, `<location ${attributes}/>`), PACKAGE)
    let other: FakeServer
    beforeAll(async () => {
      other = await startServer({ 'v1.0/hello.rpm': 'content', 'pool/hello.rpm': 'content' })
    })
    afterAll(() => other.close())

    test.each<[string, () => string, () => string]>([
      ['of another host', () => `xml:base="${other.url}v1.0" href="hello.rpm"`, () => `${other.url}v1.0/hello.rpm`],
      ['above the repository', () => 'href="../../pool/hello.rpm"', () => '../../pool/hello.rpm'],
      [
        'in its tree by its address',
        () => `xml:base="${server.url}" href="./pool/hello.rpm"`,
        () => `${server.url}pool/hello.rpm`,
      ],
    ])('%s fetches it there and verifies its digest', async (_, attributes, path) => {
      await publish({ primary: elsewhere(attributes()) })
      server.files['pool/hello.rpm'] = 'content'
      // The repository itself is in a subdirectory.
      const files = Object.entries(server.files).map(([name, bytes]) => [
        name.startsWith('repodata') ? `a/b/${name}` : name,
        bytes,
      ])
      server.files = Object.fromEntries(files) as FakeServer['files']
      const upstream = await open({ url: `${server.url}a/b/` })
      const { entries, unreadable } = await readCatalog(upstream)
      expect(unreadable).toEqual([])
      expect(entries.map((entry) => entry.path)).toEqual([path(), 'Packages/h/hello-2.10-3.el9.x86_64.rpm'])
      const to = join(bench.directory, 'fetched')
      expect(await upstream.fetchPackage(entries[0]!, to)).toMatchObject({ sha256: sha256('content') })
      await rm(to)
      server.files['pool/hello.rpm'] = other.files['v1.0/hello.rpm'] = 'changed'
      expect(await problemOf(upstream.fetchPackage(entries[0]!, to))).toMatchObject({ code: 'checksum_mismatch' })
      other.files['v1.0/hello.rpm'] = 'content'
    })

    test.each([
      'href="/etc/passwd"',
      'href="../a%2f..%2f..%2fx"',
      'href="../a&#10;b"',
      'xml:base="ftp://host/" href="x.rpm"',
      'xml:base="file:///etc" href="x.rpm"',
      'xml:base="http://" href="x.rpm"',
    ])('leaves out what no client may fetch (%s), and keeps the others', async (attributes) => {
      await publish({ primary: elsewhere(attributes) })
      const { entries, unreadable } = await readCatalog(await open())
      expect(entries).toHaveLength(1)
      expect(unreadable).toEqual([
        { name: 'hello', unreadable: expect.stringMatching(/names a file outside|is no http/) as string },
      ])
    })

    test('of an address that must not be read does not ask for it', async () => {
      const http = createHttpClient({ allowPrivate: false, allowedHosts: ['127.0.0.1'] })
      for (const base of [other.url.replace('127.0.0.1', 'localhost'), 'http://169.254.169.254/']) {
        await publish({ primary: elsewhere(`xml:base="${base}" href="v1.0/hello.rpm"`) })
        other.log = []
        const upstream = await open({}, { http })
        const { entries } = await readCatalog(upstream)
        const problem = await problemOf(upstream.fetchPackage(entries[0]!, join(bench.directory, 'fetched')))
        expect(problem).toMatchObject({ code: 'forbidden_target' })
        expect(other.log).toEqual([])
      }
      await http.close()
    })
  })

  test.each([
    ['name', PACKAGE.replace('<name>hello', '<name>he llo')],
    ['version', PACKAGE.replace('ver="2.10"', 'ver="2/10"')],
    ['dependency', PACKAGE.replace('(a or b', '(a or (b')],
    [
      'list of boolean dependencies',
      PACKAGE.replace('<rpm:requires>', `<rpm:requires>${'<rpm:entry name="(a or b)"/>'.repeat(1100)}`),
    ],
    ['boolean dependency', PACKAGE.replace('(a or b', `(a or ${'b or '.repeat(60_000)}b`)],
    ['list of requires', PACKAGE.replace('<rpm:requires>', `<rpm:requires>${'<rpm:entry name="a"/>'.repeat(8200)}`)],
    ['list of files', PACKAGE.replace('<file>', '<file>/etc/a</file>'.repeat(17_000) + '<file>')],
  ])('leaves out a package with a bad %s, and goes on', async (_, bad) => {
    await publish({ primary: primaryOf(bad, PACKAGE) })
    const { entries, unreadable } = await readCatalog(await open())
    expect(entries).toHaveLength(1)
    expect(unreadable).toHaveLength(1)
  })
})

describe('mirrors of an rpm repository', () => {
  const metalink = (repomd: string, urls: string[]) => `<?xml version="1.0" encoding="utf-8"?>
<metalink version="3.0" xmlns="http://www.metalinker.org/" xmlns:mm0="http://fedorahosted.org/mirrormanager"><files><file name="repomd.xml">
<mm0:timestamp>1</mm0:timestamp><size>${Buffer.byteLength(repomd)}</size>
<verification><hash type="md5">0</hash><hash type="sha256">${sha256(repomd)}</hash></verification>
<resources maxconnections="1">${urls
    .map((url, at) => `<url protocol="http" type="http" preference="${100 - at}">${url}repodata/repomd.xml</url>`)
    .join(
      '',
    )}<url protocol="rsync" preference="100">rsync://other/repodata/repomd.xml</url></resources></file></files></metalink>`

  test('are taken from a metalink in their order, and one with other content is passed over', async () => {
    await publish()
    const repomd = String(server.files['repodata/repomd.xml'])
    const liar = await startServer({
      ...server.files,
      'repodata/repomd.xml': repomd.replace('<revision>1', '<revision>9'),
    })
    const list = await startServer({ metalink: metalink(repomd, [liar.url, server.url]) })
    const upstream = await open({ url: `${list.url}metalink`, mirrors: 'metalink', keys: [], allowUnsigned: true })
    const { entries } = await readCatalog(upstream)
    expect(entries).toHaveLength(1)
    expect(liar.log).toEqual(['repodata/repomd.xml 200'])
    await Promise.all([list.close(), liar.close()])
  })

  test('are refused when none is as the metalink describes', async () => {
    await publish()
    const list = await startServer({ metalink: metalink('another', [server.url]) })
    const upstream = await open({ url: `${list.url}metalink`, mirrors: 'metalink', keys: [], allowUnsigned: true })
    expect(await problemOf(upstream.check(null))).toMatchObject({ code: 'upstream_error' })
    await list.close()
  })

  test('are taken from a list, which is asked for again when its server is busy', async () => {
    await publish()
    let isBusy = true
    const list = await startServer({ list: `# mirrors\nftp://other/\n\n${server.url.replace(/\/$/, '')}\n` })
    list.intercept = (_, response) => {
      if (isBusy) response.writeHead(503).end()
      return isBusy && !(isBusy = false)
    }
    const upstream = await open({ url: `${list.url}list?repo=test&arch=x86_64`, mirrors: 'mirrorlist' })
    expect((await readCatalog(upstream)).entries).toHaveLength(1)
    await list.close()
  })
})
