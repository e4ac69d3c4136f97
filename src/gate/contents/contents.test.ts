// A reader unpacks the same members for the antivirus engine as this process would, and leaves no files behind.
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createLocalFile } from '../../../test/antivirus/local-file.ts'
import { nest } from '../../../test/antivirus/nested.ts'
import { realReaders } from '../../formats/readers/fixture.ts'
import { zstdFrame } from '../../../test/samples/compress.ts'
import { buildDeb } from '../../../test/samples/deb.ts'
import { buildTar } from '../../../test/samples/tar.ts'
import { buildZip } from '../../../test/samples/zip.ts'
import { formatOf } from '../../formats/index.ts'
import type { ReaderPool } from '../../formats/readers/pool.ts'
import { expandMembers } from '../engines/nested/expand.ts'
import type { ExpandLimits } from '../engines/nested/limits.ts'
import type { ScanMember } from '../engines/scanner.ts'
import { createContents } from './contents.ts'

const MIB = 1024 * 1024
const LIMITS: ExpandLimits = { maxStreamBytes: 100 * MIB, engine: null }

let directory: string
let local: string
let readers: ReaderPool
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'contents-'))
  local = join(directory, 'local')
  await mkdir(local)
  readers = realReaders(directory, { mostReaders: 1 })
})
afterEach(async () => {
  expect(await readdir(directory)).toEqual(['local', 'package'])
})
afterAll(async () => {
  await readers.close()
  await rm(directory, { recursive: true })
})

const open = (pool = readers) =>
  createContents(
    pool,
    () => join(directory, randomUUID()),
    () => ({}),
  )

async function stored(files: Record<string, Buffer | string>): Promise<string> {
  const path = join(directory, 'package')
  await writeFile(path, await buildDeb({ files }))
  return path
}

type Told = { name: string; size: number; content: string } | { name: string; reason: string }

/** Members and skips in their order. */
async function told(contents: (skip: (name: string, reason: string) => void) => AsyncIterable<ScanMember>) {
  const all: Told[] = []
  for await (const { name, sizeBytes, content } of contents((name, reason) => all.push({ name, reason }))) {
    const pieces: Uint8Array[] = []
    for await (const piece of content) pieces.push(Buffer.from(piece))
    all.push({ name, size: sizeBytes, content: Buffer.concat(pieces).toString('base64') })
  }
  return all
}

const NESTED = {
  'usr/a.txt': 'small',
  'usr/b.jar': buildZip([{ name: 'x.zst', content: zstdFrame(Buffer.from('inside')) }]),
  'usr/c.tar.zst': zstdFrame(buildTar([{ name: 'big', content: Buffer.alloc(3 * MIB, 'abc') }])),
  'usr/d.7z': Buffer.concat([Buffer.from('377abcaf271c0004', 'hex'), Buffer.alloc(100)]),
  'usr/e.tar': buildTar([
    { name: 'f.zst', content: zstdFrame(Buffer.alloc(2 * MIB, 'def')) },
    { name: 'g.lz', content: Buffer.from('LZIP\x01 and more') },
    { name: 'h', content: Buffer.alloc(2 * MIB, 'ghi') },
  ]),
  'usr/damaged.gz': gzipSync(Buffer.alloc(2 * MIB, 'x')).subarray(0, 500),
  'usr/z.bin': Buffer.alloc(700_000, 'z'),
}

describe('a package that is unpacked in a reader', () => {
  test.each([
    ['with room for all', LIMITS],
    ['with members above the largest stream', { ...LIMITS, maxStreamBytes: MIB }],
    ['with few bytes', { ...LIMITS, bounds: { bytes: MIB } }],
    ['with few containers', { ...LIMITS, bounds: { containers: 2 } }],
  ] satisfies [string, ExpandLimits][])('gives the same members and the same reasons, %s', async (_, limits) => {
    const path = await stored(NESTED)
    const found = await told((skip) => open()('deb', path, limits, skip))
    const expected = await told((skip) =>
      expandMembers(() => formatOf('deb').members(path), {
        ...limits,
        createFile: () => createLocalFile(local),
        skip: async (name, reason) => skip(name, reason),
      }),
    )
    // Nobody reads a member that is not streamed.
    const read = expected.map((one) =>
      'size' in one && one.size > limits.maxStreamBytes ? { ...one, content: '' } : one,
    )
    expect(found).toEqual(read)
    expect(found.length).toBeGreaterThan(7)
  })

  test('may be left in the middle, and the next one is read by the same reader', async () => {
    const path = await stored(NESTED)
    for (const left of ['usr/a.txt', 'usr/c.tar.zst', 'usr/c.tar.zst!/c.tar', 'usr/z.bin'])
      for await (const { name, content } of open()('deb', path, LIMITS, () => {}))
        if (name === left) for await (const _ of content) break
        else if (name === 'usr/z.bin') break
    const names = (await told((skip) => open()('deb', path, LIMITS, skip))).map(({ name }) => name)
    expect(names).toContain('usr/z.bin')
  })

  test('is found where REPOS_DIR is a relative path', async () => {
    const here = relative(process.cwd(), directory)
    const contents = createContents(
      readers,
      () => join(here, randomUUID()),
      () => ({}),
    )
    await stored(NESTED)
    const found = await told((skip) => contents('deb', join(here, 'package'), LIMITS, skip))
    expect(found.map(({ name }) => name)).toContain('usr/c.tar.zst!/c.tar')
  })

  test('is bad when it is damaged', async () => {
    const path = await stored({ a: 'x' })
    await writeFile(path, (await buildDeb({ files: { a: 'x'.repeat(5000) } })).subarray(0, 400))
    await expect(told((skip) => open()('deb', path, LIMITS, skip))).rejects.toMatchObject({ code: 'invalid_package' })
  })

  test('skips what is packed in itself too often', async () => {
    const path = await stored({ deep: nest(40, (content) => gzipSync(content)), last: 'x' })
    const found = await told((skip) => open()('deb', path, LIMITS, skip))
    expect(found.filter((one) => 'reason' in one)).toHaveLength(1)
    expect(found.at(-1)).toMatchObject({ name: 'last' })
  })
})

describe('a reader that ends while it unpacks', () => {
  test.each([
    ['by time', { replyMs: 1 }, 'takes longer'],
    ['by memory', { residentMb: 30 }, 'more memory'],
  ])('%s leaves no file, and the package is bad', async (_, limits, sentence) => {
    const path = await stored({ 'a.tar.xz': zstdFrame(buildTar([{ name: 'big', content: Buffer.alloc(30 * MIB) }])) })
    const strict = realReaders(directory, { mostReaders: 1, ...limits })
    try {
      await expect(told((skip) => open(strict)('deb', path, LIMITS, skip))).rejects.toMatchObject({
        code: 'invalid_package',
        detail: expect.stringContaining(sentence),
      })
    } finally {
      await strict.close()
    }
  })
})
