import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { buildApk, buildIndex, makeKey, type SampleKey } from '../../test/samples/apk.ts'
import { readApk } from '../formats/apk/read.ts'
import { tarFile } from '../formats/apk/tar-blocks.ts'
import { createBench, problemOf, readCatalog, sha256, startServer, type Bench, type FakeServer } from './fixture.ts'
import type { UpstreamSource } from './source.ts'

let bench: Bench
let server: FakeServer
let key: SampleKey
let foreign: SampleKey

beforeAll(async () => {
  bench = await createBench()
  server = await startServer({})
  key = makeKey('alpine@example.org-1.rsa.pub')
  foreign = makeKey('other@example.org-2.rsa.pub')
})
afterEach(async () => {
  expect(await bench.leftovers()).toEqual([])
})
afterAll(async () => {
  await server.close()
  await bench.close()
})

const open = (changes: Partial<UpstreamSource> = {}) =>
  bench.open({
    type: 'apk',
    url: server.url,
    architectures: ['x86_64'],
    keys: [{ name: key.name, text: key.pem }],
    allowUnsigned: false,
    ...changes,
  })

const record = (fields: Record<string, string | null> = {}) =>
  `${Object.entries({
    C: 'Q1qKcZ+j23xssAXmgQhkOO8dHnbWw=',
    P: 'hello',
    V: '2.10-r3',
    A: 'x86_64',
    S: '7',
    I: '2048',
    T: 'greets',
    U: 'https://example.org/',
    L: 'MIT',
    o: 'hi',
    m: 'A <a@example.org>',
    t: '1700000000',
    D: 'so:libc.musl-x86_64.so.1 busybox>=1.36 !old',
    p: 'cmd:hello=2.10-r3',
    ...fields,
  })
    .filter(([, value]) => value !== null)
    .map(([letter, value]) => `${letter}:${value}\n`)
    .join('')}\n`

const publish = (records: string, signer: SampleKey | undefined = key, arch = 'x86_64') => {
  server.files = { ...server.files, [`${arch}/APKINDEX.tar.gz`]: buildIndex(records, signer) }
  server.log = []
}

describe('an apk repository', () => {
  test('is read with its facts', async () => {
    publish(record() + record({ P: 'more', A: 'noarch' }))
    const { entries, unreadable, signedBy } = await readCatalog(await open())
    expect(unreadable).toEqual([])
    expect(signedBy).toEqual([key.name])
    expect(entries).toEqual([
      {
        format: 'apk',
        name: 'hello',
        version: '2.10-r3',
        arch: 'x86_64',
        section: null,
        description: 'greets',
        maintainer: 'A <a@example.org>',
        license: 'MIT',
        url: 'https://example.org/',
        sourcePackage: 'hi',
        sourceVersion: null,
        installedSizeKb: 2,
        requirements: [
          {
            kind: 'depend',
            strong: true,
            anyOf: [{ name: 'so:libc.musl-x86_64.so.1' }],
            text: 'so:libc.musl-x86_64.so.1',
          },
          {
            kind: 'depend',
            strong: true,
            anyOf: [{ name: 'busybox', op: '>=', version: '1.36' }],
            text: 'busybox>=1.36',
          },
          { kind: 'conflict', strong: false, anyOf: [{ name: 'old' }], text: '!old' },
        ],
        provides: [{ name: 'cmd:hello', version: '2.10-r3' }],
        files: [],
        path: 'x86_64/hello-2.10-r3.apk',
        sizeBytes: 7,
        digest: { algorithm: 'control-sha1', hex: 'a8a719fa3db7c6cb005e681086438ef1d1e76d6c' },
      },
      expect.objectContaining({ name: 'more', path: 'noarch/more-2.10-r3.apk' }),
    ])
  })

  test('of several architectures costs one conditional request for each', async () => {
    publish(record())
    publish(record({ A: 'aarch64' }), key, 'aarch64')
    const upstream = await open({ architectures: ['x86_64', 'aarch64'] })
    const { seen, entries } = await readCatalog(upstream)
    expect(entries.map(({ arch }) => arch)).toEqual(['x86_64', 'aarch64'])
    server.log = []
    expect((await upstream.check(seen)).state).toBe('unchanged')
    expect(server.log).toEqual(['x86_64/APKINDEX.tar.gz 304', 'aarch64/APKINDEX.tar.gz 304'])
    publish(record({ A: 'aarch64', V: '3-r0' }), key, 'aarch64')
    expect((await readCatalog(upstream, seen)).entries.map(({ version }) => version)).toEqual(['2.10-r3', '3-r0'])
  })

  test('accepts a key without a name under any name', async () => {
    publish(record())
    expect((await readCatalog(await open({ keys: [{ name: null, text: key.pem }] }))).entries).toHaveLength(1)
  })

  test('without a signature is read only when the source allows it', async () => {
    server.files = { 'x86_64/APKINDEX.tar.gz': buildIndex(record()) }
    expect(await problemOf((await open()).check(null))).toMatchObject({ extra: { reason: 'unsigned' } })
    const unsigned = await open({ keys: [], allowUnsigned: true })
    expect((await readCatalog(unsigned)).entries).toHaveLength(1)
    publish(record())
    expect((await readCatalog(unsigned)).entries).toHaveLength(1)
  })

  test.each<[string, () => Buffer]>([
    ['a foreign key', () => buildIndex(record(), foreign)],
    ['a foreign key under a known name', () => buildIndex(record(), { ...foreign, name: key.name })],
    [
      'the key, with another index behind the signature',
      () => {
        const signed = buildIndex(record(), key)
        const unsigned = buildIndex(record())
        return Buffer.concat([signed.subarray(0, signed.length - unsigned.length), buildIndex(record({ P: 'evil' }))])
      },
    ],
    [
      'the key, with more behind the index',
      () => Buffer.concat([buildIndex(record(), key), buildIndex(record({ P: 'evil' }))]),
    ],
  ])('signed by %s is refused', async (_, index) => {
    server.files = { 'x86_64/APKINDEX.tar.gz': index() }
    const { extra } = await problemOf((await open()).check(null))
    expect(['signature', 'unsigned']).toContain(extra['reason'])
  })

  test('whose signature carries pax headers is read from behind it alone', async () => {
    const index = buildIndex(record())
    const signed = buildIndex(record(), key)
    const signature = gunzipSync(signed.subarray(0, signed.length - index.length))
    const pax = paxGlobal({ path: 'APKINDEX', size: '0' })
    for (const head of [Buffer.concat([pax, signature]), Buffer.concat([signature, pax])]) {
      server.files = { 'x86_64/APKINDEX.tar.gz': Buffer.concat([gzipSync(head), index]) }
      const outcome = await readCatalog(await open()).catch((error: unknown) => error)
      expect(outcome).toSatisfy(
        (found: { extra?: unknown; entries?: { name: string }[] }) =>
          found.extra !== undefined || (found.entries?.length === 1 && found.entries[0]?.name === 'hello'),
      )
    }
  })

  test.each<[string, Buffer]>([
    ['truncated', buildIndex(record()).subarray(0, -20)],
    ['empty', Buffer.alloc(0)],
    ['no gzip', Buffer.from('hello')],
    ['without the file APKINDEX', gzipSync(Buffer.alloc(1024))],
    ['that unpacks 1000:1', buildIndex(record({ T: 'x'.repeat(80 * 1024 * 1024) }))],
    ['with an endless record', buildIndex(record({ T: 'x'.repeat(600 * 1024) }))],
    ['without a checksum', buildIndex(record({ C: null }))],
    ['with a checksum of another kind', buildIndex(record({ C: 'X1a8a719fa' }))],
    ['without a size', buildIndex(record({ S: null }))],
  ])('with an index %s is refused', async (_, index) => {
    server.files = { 'x86_64/APKINDEX.tar.gz': index }
    const problem = await problemOf(readCatalog(await open({ keys: [], allowUnsigned: true })))
    expect(problem).toMatchObject({ code: 'upstream_error', extra: { reason: 'malformed' } })
  })

  test.each([
    ['name', { P: '../../evil' }],
    ['architecture', { A: '..' }],
    ['version', { V: '1/../../2' }],
    ['dependency', { D: 'a>>b c@edge' }],
  ])('leaves out a record with a bad %s, and goes on', async (_, fields) => {
    publish(record(fields) + record())
    const { entries, unreadable } = await readCatalog(await open())
    expect(entries).toHaveLength(1)
    expect(unreadable).toHaveLength(1)
  })
})

/** A header whose records apply to all later entries (POSIX.1-2017, pax). */
function paxGlobal(records: Record<string, string>): Buffer {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`
    const length = rest.length + String(rest.length + 2).length
    return `${length}${rest}`
  })
  const header = Buffer.from(tarFile('global', Buffer.from(lines.join(''))))
  header.write('g', 156)
  header.write('        ', 148)
  const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

describe('a package of an apk repository', () => {
  test('is fetched when its control segment and its data are those that are listed', async () => {
    const content = buildApk({ name: 'hello', version: '2.10-r3' })
    const to = join(bench.directory, 'hello.apk')
    server.files = { 'x86_64/hello-2.10-r3.apk': content }
    const probe = join(bench.directory, 'probe.apk')
    await writeFile(probe, content)
    const { record: stated } = await readApk(probe)
    await rm(probe)
    const entry = {
      path: 'x86_64/hello-2.10-r3.apk',
      sizeBytes: content.length,
      digest: { algorithm: 'control-sha1' as const, hex: stated.controlSha1 },
    }
    const upstream = await open()
    expect(await upstream.fetchPackage(entry, to)).toMatchObject({ sha256: sha256(content) })
    expect(await readFile(to)).toEqual(content)
    await rm(to)

    const changedData = Buffer.from(content)
    changedData[content.length - 10]! ^= 1
    server.files = { 'x86_64/hello-2.10-r3.apk': changedData }
    expect(await problemOf(upstream.fetchPackage(entry, to))).toMatchObject({ code: 'checksum_mismatch' })

    const other = buildApk({ name: 'evil', version: '2.10-r3' })
    server.files = { 'x86_64/hello-2.10-r3.apk': other }
    const lying = { ...entry, sizeBytes: other.length }
    expect(await problemOf(upstream.fetchPackage(lying, to))).toMatchObject({ code: 'checksum_mismatch' })
  })
})
