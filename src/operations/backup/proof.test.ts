// An archive proves that it is complete: it is refused when anything is cut off, removed, added or replaced.
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createListReader, createListWriter, FORMAT, type Listed } from './proof.ts'
import { verifyArchive } from './verify-archive.ts'
import { writeArchive, type ArchiveFile } from './write-archive.ts'

const TOP = 'svc_backup_20260301_043000'
const BLOCK = 512

let directory: string
/** A real archive: compressed, stored, compressed. */
let whole: Buffer
/** its tar, cut at the headers; the last piece ends the archive */
let members: Buffer[]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'proof-'))
  const texts: [string, Buffer | string][] = [
    ['postgres.dump', randomBytes(300_000)],
    ['settings.json', '{"app_url":"https://one.example.org"}'],
    ['gnupg/signing-key.asc', 'a key'],
    ['audit/2026-03-01.jsonl', '{"seq":1}\n'],
    [`manifests/jammy/${'x'.repeat(150)}.json`, '{}'],
    ['manifests/jammy/empty.json', ''],
  ]
  const files: ArchiveFile[] = []
  for (const [at, [name, content]] of texts.entries()) {
    const path = join(directory, `file-${at}`)
    await writeFile(path, content)
    files.push({ name, path, mode: 0o600 })
  }
  for (const size of [200_000, 3000, 3000]) files.push(packageOf(randomBytes(size)))
  whole = await written('whole', files, { packages: 3, blobs: 3 })
  members = membersOf(gunzipSync(whole))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

function packageOf(bytes: Buffer): ArchiveFile {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const read = { stream: () => Readable.from([bytes]), close: async () => {} }
  const stored = { sizeBytes: bytes.length, modifiedAt: new Date(0), mode: 0o644, ...read }
  return { name: `pool/deb/${sha256.slice(0, 2)}/${sha256}/a_1.0_amd64.deb`, stored }
}

async function written(name: string, files: ArchiveFile[], rows: Record<string, number>): Promise<Buffer> {
  const about = { format: FORMAT, service: '1.2.3', created_at: '2026-03-01T04:30:00.000+00:00', name: TOP }
  const proof = { about, list: join(directory, `${name}.list`), totals: () => ({ missing: 0, rows }) }
  const each = (async function* () {
    yield* files
  })()
  const quiet = { signal: new AbortController().signal, onFile: () => {} }
  await writeArchive(join(directory, name), proof, ['audit', 'pool'], each, quiet)
  return readFile(join(directory, name))
}

/** A pax header and the entry that it describes are one piece. */
function membersOf(tar: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, start = 0; ;) {
    if (tar[at] === 0) return [...pieces, tar.subarray(at)]
    const size = parseInt(tar.toString('latin1', at + 124, at + 135), 8)
    const isPax = tar[at + 156] === 'x'.charCodeAt(0)
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
    if (isPax) continue
    pieces.push(tar.subarray(start, at))
    start = at
  }
}

/** The ends of the gzip file's members, except the last. */
function gzipEnds(file: Buffer): number[] {
  const ends: number[] = []
  const magic = Buffer.from('1f8b080000000000', 'hex')
  for (let at = file.indexOf(magic, 1); at !== -1; at = file.indexOf(magic, at + 1)) ends.push(at)
  return ends
}

let copies = 0
/** @returns the sentence of the refusal, `accepted`, or `without proof` where a flag is needed */
async function refusal(archive: Buffer): Promise<string> {
  const path = join(directory, `copy-${copies++}`)
  await writeFile(path, archive)
  try {
    return await verifyArchive(path).then(
      ({ proof }) => (proof ? 'accepted' : 'without proof'),
      (error: Error & { code: string; detail: string }) =>
        error.code === 'validation_error' ? error.detail : error.message,
    )
  } finally {
    await rm(path)
  }
}

const REFUSED = /^(?!accepted$|without proof$)/
const packed = (pieces: readonly Buffer[]) => gzipSync(Buffer.concat(pieces), { level: 1 })

test('a whole archive is accepted, also when it is compressed anew', async () => {
  expect(gzipEnds(whole)).toHaveLength(2)
  expect(await refusal(whole)).toBe('accepted')
  expect(await refusal(packed(members))).toBe('accepted')
})

describe('an archive that is cut off is refused', () => {
  test('at 200 places, and wherever a member of the gzip file ends', async () => {
    const places = Array.from({ length: 200 }, (_, n) => Math.floor((whole.length * n) / 200))
    const late = Array.from({ length: 30 }, (_, n) => whole.length - 1 - n)
    for (const at of [...places, ...late, ...gzipEnds(whole)])
      expect([at, await refusal(whole.subarray(0, at))]).toEqual([at, expect.stringMatching(REFUSED)])
  })

  test('wherever an entry of the tar ends, with and without the blocks that end a tar', async () => {
    for (let count = 1; count < members.length - 1; count++) {
      const first = members.slice(0, count)
      for (const pieces of [first, [...first, members.at(-1)!]])
        expect(await refusal(packed(pieces))).toMatch(/truncated/)
    }
    expect(await refusal(packed(members.slice(0, -1)))).toMatch(/truncated/)
    for (const size of [512, 1, 511, 513, 1023])
      expect(await refusal(packed([...members.slice(0, -1), Buffer.alloc(size)]))).toMatch(/truncated/)
  })
})

describe('an archive is refused', () => {
  const changed = (change: (entries: Buffer[]) => Buffer[]) =>
    refusal(packed([...change(members.slice(0, -1)), members.at(-1)!]))

  test('without any one of its entries', async () => {
    for (let at = 1; at < members.length - 1; at++)
      expect(await changed((all) => all.toSpliced(at, 1))).toMatch(/entries|truncated|no postgres\.dump/)
    // Without its first entry it looks like an archive of an older build, but has a list.
    expect(await changed((all) => all.slice(1))).toMatch(/a list of its entries, but no archive\.json/)
  })

  test('with an entry twice, at once or at the end', async () => {
    for (let at = 0; at < members.length - 1; at++) {
      expect(await changed((all) => all.toSpliced(at, 0, all[at]!))).toMatch(REFUSED)
      expect(await changed((all) => [...all, all[at]!])).toMatch(/twice|follows its list/)
    }
  })

  test('with two neighbours exchanged', async () => {
    for (let at = 0; at < members.length - 2; at++)
      expect(await changed((all) => all.toSpliced(at, 2, all[at + 1]!, all[at]!))).toMatch(REFUSED)
  })

  test('with the mode, the size or the bytes of an entry changed', async () => {
    for (let at = 0; at < members.length - 1; at++) {
      const mode = Buffer.from(members[at]!)
      // The header of the entry itself, which may follow a pax header.
      const header = mode[156] === 'x'.charCodeAt(0) ? 2 * BLOCK : 0
      mode.write('0000777', header + 100, 'latin1')
      sign(mode, header)
      expect(await changed((all) => all.with(at, mode))).toMatch(/other entries|another mode/)
      const content = Buffer.from(members[at]!)
      const size = parseInt(content.toString('latin1', header + 124, header + 135), 8)
      if (size === 0) continue
      content[header + BLOCK]! ^= 1
      expect(await changed((all) => all.with(at, content))).toMatch(REFUSED)
    }
  })

  test('with the entry of another archive in place of its own', async () => {
    const file = join(directory, 'other-settings')
    await writeFile(file, '{"app_url":"https://two.example.org"}')
    const dump = join(directory, 'other-dump')
    await writeFile(dump, 'PGDMP')
    const files: ArchiveFile[] = [
      { name: 'postgres.dump', path: dump, mode: 0o600 },
      { name: 'settings.json', path: file, mode: 0o600 },
      packageOf(Buffer.from('a package')),
    ]
    const other = membersOf(gunzipSync(await written('other', files, { packages: 1, blobs: 1 })))
    const at = (name: string, all: readonly Buffer[]) => all.findIndex((one) => one.includes(`${TOP}/${name}`))
    for (const name of ['postgres.dump', 'settings.json', 'contents.ndjson'])
      expect(await changed((all) => all.with(at(name, all), other[at(name, other)]!))).toMatch(/other entries/)
    expect(await changed((all) => all.toSpliced(-1, 0, other.at(-3)!))).toMatch(/other entries/)
  })

  test.each<[string, () => Buffer]>([
    ['one byte', () => Buffer.from('x')],
    ['zeros', () => Buffer.alloc(512)],
    ['what is no gzip', () => randomBytes(100_000)],
    ['an empty member', () => gzipSync('')],
    ['a member of zeros', () => gzipSync(Buffer.alloc(1024))],
    ['itself', () => whole],
    ['the beginning of a member', () => Buffer.from('1f8b0800', 'hex')],
  ])('with %s after its end', async (_, after) => {
    expect(await refusal(Buffer.concat([whole, after()]))).toMatch(/damaged|follows/)
  })

  test('of a format that this build does not know, and under the name of another', async () => {
    const about = (text: string) => {
      const entry = Buffer.alloc(2 * BLOCK)
      members[0]!.copy(entry, 0, 0, BLOCK)
      entry.write(`${text.length.toString(8).padStart(11, '0')} `, 124, 'latin1')
      sign(entry, 0)
      entry.write(text, BLOCK)
      return entry
    }
    const text = (fields: object) =>
      JSON.stringify({ format: 1, service: '9.0.0', created_at: '2026', name: TOP, ...fields })
    expect(await changed((all) => all.with(0, about(text({ format: 2 }))))).toMatch(/has format 2, of service 9\.0\.0/)
    expect(await changed((all) => all.with(0, about(text({ name: 'svc_backup_20260301_043001' }))))).toMatch(
      /says that it/,
    )
    expect(await changed((all) => all.with(0, about('{"format":"1"}')))).toMatch(/cannot be read/)
  })
})

/** Writes the checksum of a header. */
function sign(tar: Buffer, at: number): void {
  tar.fill(' ', at + 148, at + 156)
  const sum = tar.subarray(at, at + BLOCK).reduce((all, byte) => all + byte, 0)
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1')
}

test(
  'the list of 400,000 entries, of 100 MB, is written and compared in little memory',
  { timeout: 120_000 },
  async () => {
    const path = join(directory, 'million')
    const entry = (n: number): Listed => ({
      ...{ name: `pool/deb/aa/${n}/${'x'.repeat(100)}.deb`, type: 'file', mode: 0o600, sizeBytes: n },
      sha256: 'a'.repeat(64),
    })
    const writer = await createListWriter(path)
    const reader = createListReader()
    let highest = 0
    const before = process.memoryUsage().rss
    const count = 400_000
    for (let n = 0; n < count; n++) {
      await writer.add(entry(n))
      reader.add(entry(n))
      if (n % 50_000 === 0) highest = Math.max(highest, process.memoryUsage().rss)
    }
    await writer.finish({ packages: count, missing: 0, rows: {} })
    expect(await reader.compare(createReadStream(path))).toEqual({
      entries: count,
      packages: count,
      missing: 0,
      rows: {},
    })
    highest = Math.max(highest, process.memoryUsage().rss)
    expect(highest - before).toBeLessThan(90 * 1024 ** 2)
  },
)
