// An upstream whose documents end the reader, by time, memory or a crash, is refused; other upstreams are still read.
import { relative } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { realReaders, scriptedReaders } from '../formats/readers/fixture.ts'
import type { PoolOptions, ReaderPool } from '../formats/readers/pool.ts'
import {
  aptFiles,
  createBench,
  createKey,
  NOW,
  problemOf,
  readCatalog,
  stanza,
  startServer,
  type Bench,
  type FakeServer,
  type TestKey,
} from './fixture.ts'
import { createVerifier } from './verifier.ts'

let bench: Bench
let server: FakeServer
let key: TestKey
beforeAll(async () => {
  bench = await createBench()
  server = await startServer({})
  key = await createKey()
})
afterAll(async () => {
  await server.close()
  await bench.close()
})
beforeEach(async () => {
  const packages = Array.from({ length: 20_000 }, (_, n) =>
    stanza({ Package: `p${n}`, Filename: `pool/p${n}.deb`, Description: 'x'.repeat(500) }),
  ).join('')
  const { release, files } = aptFiles({ packages })
  server.files = { ...files, 'dists/test/InRelease': await key.cleartext(release) }
})

const source = () => ({
  ...{ url: server.url, suite: 'test', components: ['main'], architectures: ['amd64'] },
  ...{ keys: [{ name: null, text: key.publicKey }], allowUnsigned: false },
})

/** Reads the repository with these readers, and again with usual ones. */
async function refusalOf(readers: { quick?: ReaderPool; slow?: ReaderPool }) {
  const usual = realReaders(bench.directory)
  const upstream = await bench.open(source(), { readers: { quick: usual, slow: usual, ...readers } })
  const problem = await problemOf(readCatalog(upstream))
  expect(await bench.leftovers()).toEqual([])
  expect((await readCatalog(await bench.open(source()))).entries).toHaveLength(20_000)
  await Promise.all([usual.close(), readers.quick?.close(), readers.slow?.close()])
  return problem
}

const real = (options: Partial<PoolOptions>) => realReaders(bench.directory, { mostReaders: 1, ...options })

test.each([
  ['takes too long', () => real({ replyMs: 1 })],
  ['takes too much memory', () => real({ residentMb: 30 })],
  ['takes too much heap', () => scriptedReaders('for (const all = []; ; ) all.push([0.5])', { heapMb: 32 })],
  ['ends the reader', () => scriptedReaders("process.kill(process.pid, 'SIGSEGV')")],
  ['makes it send nonsense', () => scriptedReaders("send({ kind: 'sent', value: { runs: [{}], lines: 'x' } })")],
])('an index that %s is refused, and the next source is read', async (_, slow) => {
  expect(await refusalOf({ slow: slow() })).toMatchObject({
    code: 'upstream_error',
    detail: 'dists/test/main/binary-amd64/Packages could not be read within the limits of time and memory',
    extra: { reason: 'too_large' },
  })
})

test.each([
  ['takes too long', () => real({ replyMs: 1 })],
  ['takes too much memory', () => real({ residentMb: 30 })],
  ['ends the reader', () => scriptedReaders("process.kill(process.pid, 'SIGSEGV')")],
  ['makes it send nonsense', () => scriptedReaders("send({ kind: 'done', value: { description: { indexes: 7 } } })")],
])('a description that %s is refused, and the next source is read', async (_, quick) => {
  expect(await refusalOf({ quick: quick() })).toMatchObject({ code: 'upstream_error', extra: { reason: 'signature' } })
})

test('indexes are found where REPOS_DIR is a relative path', async () => {
  const upstream = await bench.open(source(), { stagingDirectory: relative(process.cwd(), bench.directory) })
  expect((await readCatalog(upstream)).entries).toHaveLength(20_000)
})

test('a description that asks for files without end is an error of the reader', async () => {
  const quick = scriptedReaders(
    "send({ kind: 'done', value: { need: { kind: 'small', path: 'dists/test/InRelease', mostBytes: 1e6 } } })",
  )
  const upstream = await bench.open(source(), { readers: { quick, slow: quick } })
  await expect(upstream.check(null)).rejects.toThrow('needs more than')
  expect(await bench.leftovers()).toEqual([])
  await quick.close()
})

test.each([
  ['takes too long', () => real({ replyMs: 1 })],
  ['takes too much memory', () => real({ residentMb: 30 })],
  ['ends the reader', () => scriptedReaders('process.exit(3)')],
])('a document whose verification %s is refused', async (_, readers) => {
  const pool = readers()
  const own = createVerifier(pool).withKeys([key.publicKey], NOW)
  const document = Buffer.from(await key.cleartext('text\n'.repeat(9000)))
  expect(await problemOf(own.cleartext(document, 'one'))).toMatchObject({
    code: 'upstream_error',
    detail: 'the signature of one could not be read within the limits of time and memory',
    extra: { reason: 'signature' },
  })
  await pool.close()
})
