import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { compressSample } from '../../test/samples/compress.ts'
import {
  aptFiles,
  createBench,
  createKey,
  problemOf,
  readCatalog,
  sha256,
  stanza,
  startServer,
  type AptRepository,
  type Bench,
  type FakeServer,
  type TestKey,
} from './fixture.ts'
import type { UpstreamSource } from './source.ts'
import type { Upstream } from './upstream.ts'

let bench: Bench
let server: FakeServer
let key: TestKey
let foreign: TestKey
let expired: TestKey

beforeAll(async () => {
  bench = await createBench()
  server = await startServer({})
  key = await createKey()
  foreign = await createKey()
  expired = await createKey(60 * 24 * 3600)
})
afterEach(async () => {
  server.intercept = null
  expect(await bench.leftovers()).toEqual([])
})
afterAll(async () => {
  await server.close()
  await bench.close()
})

const source = (): Partial<UpstreamSource> => ({
  url: server.url,
  suite: 'test',
  components: ['main'],
  architectures: ['amd64'],
  keys: [{ name: null, text: key.publicKey }],
  allowUnsigned: false,
})

/** Serves a signed repository. */
async function publish(repository: AptRepository, signer = key): Promise<void> {
  const { release, files } = aptFiles(repository)
  server.files = { ...files, 'dists/test/InRelease': await signer.cleartext(release) }
  server.log = []
}

const open = (changes: Partial<UpstreamSource> = {}): Promise<Upstream> => bench.open({ ...source(), ...changes })

const BZ2_TEXT = `Package: hello\nVersion: 1\nArchitecture: amd64\nFilename: pool/hello.deb\nSize: 7\nSHA256: ${'ab'.repeat(32)}\n`
/** The same, compressed by bzip2. */
const BZ2 =
  'QlpoOTFBWSZTWfZpsmcAAA/fgAAQQAG3kCFASQA+794QIABURTGoDENDIDZR6QjKQ0aD1AaNBoBK3CkxrQHehVsztmjBpGNyPKIoAE7+GOg4gAdFhb0rmMEMJE18zNLpD59qDgaAsYCxRxUt2swgv8XckU4UJD2abJnA'

describe('an apt repository', () => {
  test.each(['lzma', 'xz', 'zst'] as const)('whose index exists as %s alone is read', async (kind) => {
    const [below, packages] = ['main/binary-amd64/Packages', stanza()]
    const content = await compressSample(Buffer.from(packages), kind)
    await publish({
      packages,
      listed: [
        { path: below, content: packages },
        { path: `${below}.${kind}`, content },
      ],
    })
    server.files = { ...server.files, [`dists/test/${below}.gz`]: undefined!, [`dists/test/${below}.${kind}`]: content }
    expect((await readCatalog(await open())).entries).toHaveLength(1)
  })

  test('whose index exists as bz2 alone is read', async () => {
    const below = 'main/binary-amd64/Packages'
    const packages = BZ2_TEXT
    const content = Buffer.from(BZ2, 'base64')
    await publish({
      packages,
      listed: [
        { path: below, content: packages },
        { path: `${below}.bz2`, content },
      ],
    })
    server.files = { ...server.files, [`dists/test/${below}.gz`]: undefined!, [`dists/test/${below}.bz2`]: content }
    expect((await readCatalog(await open())).entries.map(({ name }) => name)).toEqual(['hello'])
  })

  test('is read with its facts', async () => {
    await publish({ packages: stanza() + stanza({ Package: 'other', Architecture: 'all', Provides: 'x (= 1)' }) })
    const { entries, unreadable, signedBy } = await readCatalog(await open())
    expect(signedBy).toEqual([key.fingerprint])
    expect(unreadable).toEqual([])
    expect(entries).toEqual([
      {
        format: 'deb',
        name: 'hello',
        version: '2.10-3',
        arch: 'amd64',
        section: 'devel',
        description: 'greets',
        maintainer: 'A <a@example.org>',
        license: null,
        url: null,
        sourcePackage: 'hello',
        sourceVersion: null,
        installedSizeKb: null,
        requirements: [
          {
            kind: 'depends',
            strong: true,
            anyOf: [{ name: 'libc6', op: '>=', version: '2.34' }],
            text: 'libc6 (>= 2.34)',
          },
          { kind: 'depends', strong: true, anyOf: [{ name: 'a' }, { name: 'b', arch: 'any' }], text: 'a | b:any' },
        ],
        provides: [],
        files: [],
        path: 'pool/main/h/hello/hello_2.10-3_amd64.deb',
        sizeBytes: 7,
        digest: { algorithm: 'sha256', hex: sha256('content') },
      },
      expect.objectContaining({ name: 'other', arch: 'all', provides: [{ name: 'x', version: '1' }] }),
    ])
  })

  test('that is unchanged costs one conditional request', async () => {
    await publish({ packages: stanza() })
    const upstream = await open()
    const { seen } = await readCatalog(upstream)
    server.log = []
    const checked = await upstream.check(seen)
    expect(checked).toEqual({ state: 'unchanged', seen, signedBy: null, notCarried: null })
    expect(server.log).toEqual(['dists/test/InRelease 304'])
  })

  test('that was dated and signed again fetches no index, and remembers the new date', async () => {
    const at = (minute: string) => ({ Date: `Sat, 21 Nov 2026 11:${minute}:00 UTC` })
    await publish({ packages: stanza(), release: at('00') })
    const upstream = await open()
    const { seen } = await readCatalog(upstream)
    await publish({ packages: stanza(), release: at('01') })
    const checked = await upstream.check(seen)
    expect(checked).toMatchObject({ state: 'unchanged', signedBy: [key.fingerprint] })
    expect(checked.seen.date).toBe('2026-11-21T11:01:00.000Z')
    expect(server.log).toEqual(['dists/test/InRelease 200'])
    await publish({ packages: stanza() + stanza({ Package: 'new' }), release: at('02') })
    expect((await upstream.check(checked.seen)).state).toBe('changed')
  })

  test('is unchanged for a server without entity tags when its bytes are the same', async () => {
    await publish({ packages: stanza() })
    server.intercept = (_, response, path) => {
      response.end(server.files[path])
      return true
    }
    const upstream = await open()
    const { seen } = await readCatalog(upstream)
    expect((await upstream.check(seen)).state).toBe('unchanged')
  })

  test('is read again when the source has other components or keys', async () => {
    await publish({ packages: stanza() })
    const { seen } = await readCatalog(await open())
    const again = await open({ keys: [...(source().keys ?? []), { name: null, text: foreign.publicKey }] })
    expect((await again.check(seen)).state).toBe('changed')
  })

  test('is read from Release and Release.gpg where there is no InRelease', async () => {
    const { release, files } = aptFiles({ packages: stanza() })
    server.files = { ...files, 'dists/test/Release': release, 'dists/test/Release.gpg': await key.detached(release) }
    const upstream = await open()
    const { entries, signedBy, seen } = await readCatalog(upstream)
    expect(entries).toHaveLength(1)
    expect(signedBy).toEqual([key.fingerprint])
    expect((await upstream.check(seen)).state).toBe('unchanged')
  })

  test('without a signature is read only when the source allows it', async () => {
    const { release, files } = aptFiles({ packages: stanza() })
    server.files = { ...files, 'dists/test/Release': release }
    expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'unsigned' } })
    const unsigned = await open({ keys: [], allowUnsigned: true })
    expect((await readCatalog(unsigned)).entries).toHaveLength(1)
    await publish({ packages: stanza() })
    expect((await readCatalog(unsigned)).entries).toHaveLength(1)
    expect(await problemOf(open({ keys: [], allowUnsigned: false }))).toMatchObject({ extra: { reason: 'unsigned' } })
  })

  test('is fetched by hash where it offers that, and by name where the hash is missing', async () => {
    const packages = stanza()
    await publish({ packages, release: { 'Acquire-By-Hash': 'yes' } })
    const hashed = `dists/test/main/binary-amd64/by-hash/SHA256/${sha256(gzipSync(packages))}`
    await readCatalog(await open())
    expect(server.log).toEqual([
      'dists/test/InRelease 200',
      `${hashed} 404`,
      'dists/test/main/binary-amd64/Packages.gz 200',
    ])
    server.files[hashed] = gzipSync(packages)
    server.log = []
    await readCatalog(await open())
    expect(server.log).toEqual(['dists/test/InRelease 200', `${hashed} 200`])
  })

  test.each([
    [{ Architectures: 'all amd64' }, ['hello', 'everywhere']],
    [{ Architectures: 'all amd64', 'No-Support-for-Architecture-all': 'Packages' }, ['hello']],
    [{ Architectures: 'amd64' }, ['hello']],
  ])('whose Release states %j has the packages %j', async (release, names) => {
    const apart = stanza({ Package: 'everywhere', Architecture: 'all' })
    const listed = [
      { path: 'main/binary-amd64/Packages', content: stanza() },
      { path: 'main/binary-all/Packages', content: apart },
    ]
    await publish({ packages: stanza(), release, listed })
    Object.assign(server.files, {
      'dists/test/main/binary-amd64/Packages': stanza(),
      'dists/test/main/binary-all/Packages': apart,
    })
    expect((await readCatalog(await open())).entries.map(({ name }) => name)).toEqual(names)
  })

  test('without packages is read', async () => {
    await publish({ packages: '' })
    expect((await readCatalog(await open())).entries).toEqual([])
  })

  test.each([{ components: [] }, { architectures: [] }, { suite: null }])(
    'is not read by a source with %j',
    async (changes) => {
      await publish({ packages: stanza() })
      expect(await problemOf((await open(changes)).check(null))).toMatchObject({ extra: { reason: 'malformed' } })
    },
  )

  test('that answers "not modified" without a condition is refused', async () => {
    server.intercept = (_, response) => {
      response.writeHead(304).end()
      return true
    }
    expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'malformed' } })
  })

  test('of a flat directory is read', async () => {
    const packages = stanza({ Filename: './hello.deb' })
    const { release } = aptFiles({ packages, listed: [{ path: 'Packages', content: packages }] })
    server.files = { 'debs/InRelease': await key.cleartext(release), 'debs/Packages': packages }
    const { entries } = await readCatalog(await open({ suite: 'debs/' }))
    expect(entries).toMatchObject([{ path: 'hello.deb' }])
  })

  test('reports entries that the gate would refuse, and goes on', async () => {
    await publish({ packages: stanza({ Depends: 'no)sense' }) + stanza({ Package: 'good' }) })
    const { entries, unreadable } = await readCatalog(await open())
    expect(entries).toMatchObject([{ name: 'good' }])
    expect(unreadable).toEqual([{ name: 'hello', unreadable: expect.stringContaining('Depends') as string }])
  })
})

describe('a Release', () => {
  const ok = stanza()

  test.each<[string, AptRepository, string]>([
    ['that has expired', { packages: ok, release: { 'Valid-Until': 'Sun, 22 Nov 2026 11:59:59 UTC' } }, 'expired'],
    ['of the future', { packages: ok, release: { Date: 'Mon, 23 Nov 2026 12:00:00 UTC' } }, 'not_yet_valid'],
    ['without a date', { packages: ok, release: { Date: null } }, 'malformed'],
    ['with a date of another zone', { packages: ok, release: { Date: 'Sat, 21 Nov 2026 11:00:00 CET' } }, 'malformed'],
    ['of another suite', { packages: ok, release: { Suite: 'oldstable', Codename: 'older' } }, 'malformed'],
    ['with a field twice', { packages: ok, release: { suite: 'test' } }, 'malformed'],
    ['that lists no Packages', { packages: ok, listed: [] }, 'missing'],
  ])('%s is refused', async (_, repository, reason) => {
    await publish(repository)
    expect(await problemOf(readCatalog(await open()))).toMatchObject({ code: 'upstream_error', extra: { reason } })
  })

  test('says which architectures and components the source does not read', async () => {
    await publish({ packages: ok, release: { Architectures: 'all amd64 arm64 riscv64', Components: 'main contrib' } })
    expect(await (await open()).check(null)).toMatchObject({
      notCarried: [
        { what: 'architectures', count: 2, names: ['arm64', 'riscv64'] },
        { what: 'components', count: 1, names: ['contrib'] },
      ],
    })
  })

  test('need not have all architectures of the source, but one of them', async () => {
    await publish({ packages: ok })
    expect((await readCatalog(await open({ architectures: ['arm64', 'amd64'] }))).entries).toHaveLength(1)
    expect(await problemOf((await open({ architectures: ['arm64'] })).check(null))).toMatchObject({
      extra: { reason: 'missing' },
    })
    await publish({ packages: ok, release: { Architectures: 'amd64 arm64' } })
    expect(await problemOf((await open({ architectures: ['arm64', 'amd64'] })).check(null))).toMatchObject({
      extra: { reason: 'missing' },
    })
  })

  test('that lists only MD5 digests is refused', async () => {
    const { release, files } = aptFiles({ packages: ok })
    server.files = {
      ...files,
      'dists/test/InRelease': await key.cleartext(
        release.replace('SHA256:', 'MD5Sum:').replace(/ [0-9a-f]{32}([0-9a-f]{32})/g, ' $1'),
      ),
    }
    expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'missing' } })
  })

  test('older than one that was seen is refused', async () => {
    await publish({ packages: ok })
    const upstream = await open()
    const { seen } = await readCatalog(upstream)
    await publish({ packages: ok, release: { Date: 'Sat, 21 Nov 2026 10:59:59 UTC' } })
    expect(await problemOf(upstream.check(seen))).toMatchObject({ extra: { reason: 'rollback' } })
    const otherKeys = await open({ keys: [...(source().keys ?? []), { name: null, text: foreign.publicKey }] })
    expect(await problemOf(otherKeys.check(seen))).toMatchObject({ extra: { reason: 'rollback' } })
  })

  test('that is unchanged is refused once it has expired', async () => {
    await publish({ packages: ok, release: { 'Valid-Until': 'Sun, 22 Nov 2026 12:30:00 UTC' } })
    const { seen } = await readCatalog(await open())
    const later = await bench.open(source(), { clock: { now: () => new Date('2026-11-22T12:31:00Z') } })
    expect(await problemOf(later.check(seen))).toMatchObject({ extra: { reason: 'expired' } })
  })

  test('signed by a foreign key is refused', async () => {
    await publish({ packages: ok }, foreign)
    const problem = await problemOf((await open()).check(null))
    expect(problem).toMatchObject({ extra: { reason: 'signature' } })
    expect(problem.detail).toContain("not one of the source's")
  })

  test('signed by a key that has expired since is refused', async () => {
    await publish({ packages: ok }, expired)
    const upstream = await open({ keys: [{ name: null, text: expired.publicKey }] })
    const problem = await problemOf(upstream.check(null))
    expect(problem).toMatchObject({ extra: { reason: 'signature' } })
    expect(problem.detail).toContain('expired')
  })

  test.each<[string, (signed: string) => string]>([
    ['with a changed byte', (signed) => signed.replace('Codename: test', 'Codename: tesT')],
    ['without its signature', (signed) => signed.replace(/-----BEGIN PGP SIGNATURE[^]*/, '')],
    ['with a truncated signature', (signed) => signed.slice(0, -120)],
    ['that is empty', () => ''],
  ])('%s is refused', async (_, change) => {
    const { release, files } = aptFiles({ packages: ok })
    server.files = { ...files, 'dists/test/InRelease': change(await key.cleartext(release)) }
    expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'signature' } })
  })

  test('counts only with the text that was signed', async () => {
    const { release, files } = aptFiles({ packages: ok })
    const evil = aptFiles({ packages: stanza({ Package: 'evil' }) })
    const signed = await key.cleartext(release)
    server.files = {
      ...files,
      'dists/test/InRelease': `${evil.release}\n${signed}\n${evil.release}`,
    }
    const outcome = await readCatalog(await open()).catch((error: unknown) => error)
    expect(outcome).toSatisfy(
      (found: unknown) =>
        (found as { extra?: unknown }).extra !== undefined ||
        (found as { entries: { name: string }[] }).entries.every(({ name }) => name === 'hello'),
    )
  })

  test('of more than 512 KiB, of too many lines or with too many signatures is refused', async () => {
    const { release, files } = aptFiles({ packages: ok })
    const many = await key.cleartext(`${release}${'\n'.repeat(10_000)}`)
    for (const content of ['x'.repeat(512 * 1024 + 1), many]) {
      server.files = { ...files, 'dists/test/InRelease': content }
      expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'too_large' } })
    }
    server.files = { ...files, 'dists/test/InRelease': await key.cleartext(release, undefined, 17) }
    expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'signature' } })
  })
})

describe('a Packages', () => {
  const bomb = Buffer.alloc(80 * 1024 * 1024, 'a\n')
  const below = 'main/binary-amd64/Packages'

  test.each<[string, AptRepository, string]>([
    [
      'of another digest',
      { packages: stanza(), listed: [{ path: `${below}.gz`, content: 'other' }] },
      'checksum_mismatch',
    ],
    [
      'longer than listed',
      { packages: stanza(), listed: [{ path: `${below}.gz`, content: gzipSync(stanza()), sizeBytes: 10 }] },
      'checksum_mismatch',
    ],
    [
      'shorter than listed',
      { packages: stanza(), listed: [{ path: `${below}.gz`, content: gzipSync(stanza()), sizeBytes: 1000 }] },
      'checksum_mismatch',
    ],
    [
      'that unpacks to more than listed',
      {
        packages: stanza(),
        listed: [
          { path: below, content: '', sizeBytes: 20 },
          { path: `${below}.gz`, content: gzipSync(stanza()) },
        ],
      },
      'upstream_error',
    ],
    [
      'that unpacks to less than listed',
      {
        packages: stanza(),
        listed: [
          { path: below, content: '', sizeBytes: 2000 },
          { path: `${below}.gz`, content: gzipSync(stanza()) },
        ],
      },
      'upstream_error',
    ],
    [
      'that unpacks 1000:1',
      { packages: bomb.toString(), listed: [{ path: `${below}.gz`, content: gzipSync(bomb) }] },
      'upstream_error',
    ],
    [
      'without a digest',
      { packages: stanza({ SHA256: null, MD5sum: 'd41d8cd98f00b204e9800998ecf8427e' }) },
      'upstream_error',
    ],
    ['with a broken digest', { packages: stanza({ SHA256: 'abc' }) }, 'upstream_error'],
    ['without a size', { packages: stanza({ Size: null }) }, 'upstream_error'],
    ['with a negative size', { packages: stanza({ Size: '-1' }) }, 'upstream_error'],
    ['without a file name', { packages: stanza({ Filename: null }) }, 'upstream_error'],
    ['of nothing but broken stanzas', { packages: 'a\n\n'.repeat(10_001) }, 'upstream_error'],
    ['with an endless stanza', { packages: stanza({ Tag: 'x'.repeat(1024 * 1024) }) }, 'upstream_error'],
  ])('%s is refused', async (_, repository, code) => {
    await publish(repository)
    expect(await problemOf(readCatalog(await open()))).toMatchObject({ code })
  })

  test.each([
    '../../etc/passwd',
    'pool/../../x.deb',
    '/etc/passwd',
    'pool/%2e%2e/%2e%2e/x.deb',
    'pool/..%2fx.deb',
    'pool\\..\\x.deb',
    'pool//x.deb',
    'pool/\u0001.deb',
    'http://elsewhere.example/x.deb',
    'file:/etc/passwd',
    'pool/x\u202egpj.deb',
  ])('that names the file %j is refused', async (path) => {
    await publish({ packages: stanza({ Filename: path }) })
    expect(await problemOf(readCatalog(await open()))).toMatchObject({ extra: { reason: 'path' } })
  })

  test('that ends too soon is refused after several tries', async () => {
    await publish({ packages: stanza() })
    bench.waits.length = 0
    server.intercept = (_, response, path) => {
      if (!path.endsWith('.gz')) return false
      response.writeHead(200, { 'content-length': 400 }).write('half')
      setImmediate(() => response.destroy())
      return true
    }
    const short = { packages: stanza(), listed: [{ path: `${below}.gz`, content: 'x'.repeat(400) }] }
    server.files['dists/test/InRelease'] = await key.cleartext(aptFiles(short).release)
    expect(await problemOf(readCatalog(await open()))).toMatchObject({ extra: { reason: 'unreachable' } })
    expect(bench.waits).toEqual([500, 1000, 2000, 4000, 8000, 15_000])
  })
})
