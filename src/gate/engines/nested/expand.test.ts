// What a package's members are expanded to: every file the engine would not see, and a reason for each that nothing opens.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hidden, nest, unopened } from '../../../../test/antivirus/nested.ts'
import { ambiguous, unmarked } from '../../../../test/antivirus/unmarked.ts'
import { inPieces } from '../../../../test/antivirus/target.ts'
import { eicar } from '../../../../test/fakes/clamd.ts'
import { zstdFrame } from '../../../../test/samples/compress.ts'
import { buildTar } from '../../../../test/samples/tar.ts'
import { buildJar, buildZip } from '../../../../test/samples/zip.ts'
import { createLocalFile } from '../../../../test/antivirus/local-file.ts'
import type { EngineLimits } from '../clamav/limits.ts'
import { expandMembers, type ExpandOptions } from './expand.ts'

const MIB = 1024 * 1024
let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'expand-'))
})
afterEach(() => rm(directory, { recursive: true }))

const REPORTING: EngineLimits = {
  reportsExceeded: true,
  reportsEncrypted: true,
  depth: Infinity,
  files: Infinity,
  bytes: Infinity,
  fileBytes: Infinity,
}
const SILENT: EngineLimits = {
  reportsExceeded: false,
  reportsEncrypted: false,
  depth: 8,
  files: 900,
  bytes: 8 * MIB,
  fileBytes: 3 * MIB,
}

/** What the engine is given, and what is reported as not looked into. */
async function expand(name: string, content: Buffer, options: Partial<ExpandOptions> = {}) {
  const skipped: { name: string; reason: string }[] = []
  const given = new Map<string, Buffer>()
  async function* members() {
    yield { name, sizeBytes: content.length, content: inPieces(content) }
    yield { name: 'last', sizeBytes: 1, content: inPieces(Buffer.from('.')) }
  }
  const expanded = expandMembers(members, {
    maxStreamBytes: 100 * MIB,
    engine: null,
    createFile: () => createLocalFile(directory),
    skip: async (path, reason) => void skipped.push({ name: path, reason }),
    ...options,
  })
  for await (const member of expanded) {
    const pieces: Uint8Array[] = []
    for await (const piece of member.content) pieces.push(Buffer.from(piece))
    given.set(member.name, Buffer.concat(pieces))
  }
  expect(await readdir(directory)).toEqual([])
  return { given, skipped }
}

const HIDDEN = await hidden()
const UNOPENED = await unopened()

describe('a container that the engine does not open', () => {
  test.each(HIDDEN)('%s is unpacked', async (_, name, content, found) => {
    const { given, skipped } = await expand(name, content)
    expect(skipped).toEqual([])
    expect(given.get(name)?.equals(content)).toBe(true)
    expect([...given.keys()]).toContain(found)
    expect([...given.keys()].at(-1)).toBe('last')
  })

  test('of more than a megabyte is unpacked through a file, and its content is whole', async () => {
    const content = buildTar([{ name: 'big', content: Buffer.alloc(3 * MIB, 'abc') }])
    const { given } = await expand('a.tar.zst', zstdFrame(content))
    expect(given.get('a.tar.zst!/a.tar')?.equals(content)).toBe(true)
  })
})

describe('a container that its first bytes do not tell', () => {
  test.each(unmarked())('%s is unpacked', async (_, name, content, found) => {
    const { given, skipped } = await expand(name, content)
    expect(skipped).toEqual([])
    expect(given.get(name)?.equals(content)).toBe(true)
    // The test file itself reached the engine, in whatever path.
    expect([...given.values()].some((one) => one.equals(eicar()))).toBe(true)
    if (found !== '') expect([...given.keys()]).toContain(found)
  })

  test.each(ambiguous())('%s is reported', async (_, content, reason) => {
    const { skipped } = await expand('member', content)
    expect(skipped[0]?.reason).toContain(reason)
  })

  test.each([
    ['a text that ends like a zip', Buffer.from(`x${'PK\x05\x06'.repeat(3)}${'y'.repeat(40)}`)],
    ['bytes with the magic of a binary cpio', Buffer.concat([Buffer.from('c771', 'hex'), Buffer.alloc(600, 0xa5)])],
    ['a block of a tar with another checksum', Buffer.alloc(512, '0001 ')],
    ['nothing', Buffer.alloc(0)],
  ])('%s is none', async (_, content) => {
    const { given, skipped } = await expand('a', content)
    expect([[...given.keys()], skipped]).toEqual([['a', 'last'], []])
  })

  test('a zip behind 250,000 false headers is looked through in one pass', async () => {
    const noise = Buffer.from('PK\x03\x04'.repeat(250_000))
    const { given, skipped } = await expand('a', Buffer.concat([noise, buildZip([{ name: 'e', content: 'x' }])]))
    expect([[...given.keys()], skipped]).toEqual([['a', 'a!/e', 'last'], []])
  })
})

describe('a container that the engine opens', () => {
  test.each([
    ['a jar', buildJar('org.example', 'logger', '1.0')],
    ['a tar.gz', gzipSync(buildTar([{ name: 'a', content: 'x' }]))],
    ['a zip of gzip files', buildZip([{ name: 'a.gz', content: gzipSync('x') }])],
    ['an empty zip', buildZip([])],
  ])('%s is given as one file', async (_, content) => {
    const { given, skipped } = await expand('a', content)
    expect([...given.keys()]).toEqual(['a', 'last'])
    expect(skipped).toEqual([])
  })
})

test.each(UNOPENED)('%s is reported as not looked into', async (_, content, reason) => {
  const { given, skipped } = await expand('member', content)
  expect(given.get('member')?.equals(content)).toBe(true)
  expect(skipped.length).toBeGreaterThan(0)
  expect(skipped[0]?.reason).toContain(reason)
  expect([...given.keys()].at(-1)).toBe('last')
})

describe('7-Zip', () => {
  const archive = Buffer.concat([Buffer.from('377abcaf271c0004', 'hex'), Buffer.alloc(100)])
  test.each([
    ['an engine that reports encryption', REPORTING, 0],
    ['an engine that does not', SILENT, 1],
    ['an engine that was not measured', null, 1],
  ])('%s', async (_, engine, skips) => {
    expect((await expand('a.7z', archive, { engine })).skipped).toHaveLength(skips)
  })
})

describe('the limits of an engine that does not report them', () => {
  const files = (count: number) =>
    buildZip(Array.from({ length: count }, (_, n) => ({ name: `f${n}`, content: `${n}` })))
  const zeros = (bytes: number) => Buffer.alloc(bytes)
  const cases: [string, Buffer, string | null][] = [
    ['gzip 8 deep', nest(8, (content) => gzipSync(content)), null],
    ['gzip 9 deep', nest(9, (content) => gzipSync(content)), 'levels deep'],
    ['zip of 900 files', files(900), null],
    ['zip of 901 files', files(901), 'more than 900 files'],
    ['zip of 901 files in a tar.gz', gzipSync(buildTar([{ name: 'a', content: files(901) }])), 'more than 900 files'],
    ['gzip of 3 MiB', gzipSync(zeros(3 * MIB)), null],
    ['gzip of more', gzipSync(zeros(3 * MIB + 1)), 'a file of more than'],
    [
      'zip of 9 MiB in files of 1 MiB',
      buildZip(Array.from('123456789').map((name) => ({ name, content: zeros(MIB) }))),
      'unpacks to more',
    ],
  ]
  test.each(cases)('%s', async (_, content, reason) => {
    const { skipped } = await expand('a', content, { engine: SILENT })
    if (reason === null) expect(skipped).toEqual([])
    else expect(skipped).toEqual([{ name: 'a', reason: expect.stringContaining(reason) }])
  })
  test.each(cases)('%s is left to an engine that reports them', async (_, content) => {
    expect((await expand('a', content, { engine: REPORTING })).skipped).toEqual([])
  })
})

describe('the limits of one package', () => {
  const bomb = gzipSync(Buffer.alloc(10 * MIB))
  test.each([
    ['bytes', buildZip([{ name: 'a', content: bomb }]), { bytes: MIB }, 'unpacked bytes'],
    ['entries', buildZip(['a', 'b', 'c'].map((name) => ({ name, content: name }))), { entries: 2 }, '2 files'],
    ['containers', gzipSync(gzipSync(gzipSync('x'))), { containers: 2 }, '2 archives'],
    ['depth', gzipSync(gzipSync(gzipSync('x'))), { depth: 2 }, '2 levels'],
  ])('%s', async (_, content, bounds, reason) => {
    const { skipped, given } = await expand('a', content, { bounds, engine: SILENT })
    expect(skipped.some((one) => one.reason.includes(reason))).toBe(true)
    expect([...given.keys()].at(-1)).toBe('last')
  })
})

test('a member above the size that is streamed is passed on unopened', async () => {
  const { given } = await expand('a.zst', zstdFrame(eicar()), { maxStreamBytes: 10 })
  expect([...given.keys()]).toEqual(['a.zst', 'last'])
})

test('an error of reading the package itself is thrown, not skipped', async () => {
  async function* members() {
    yield { name: 'a', sizeBytes: 1, content: inPieces(Buffer.from('.')) }
    throw new Error('broken package')
  }
  const expanded = expandMembers(members, {
    maxStreamBytes: MIB,
    engine: null,
    createFile: () => createLocalFile(directory),
    skip: async () => {},
  })
  await expect(async () => {
    for await (const member of expanded) for await (const _ of member.content);
  }).rejects.toThrow('broken package')
})
