// The tests that every package format must pass (house rules, "Conformance checks").
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isProblem } from '../src/domain/problem.ts'
import type { StoredPackage } from '../src/domain/package.ts'
import type { ComposedStream, IndexFile, PackageFormat, Rendering } from '../src/formats/format.ts'
import type { Signers } from '../src/formats/intake-format.ts'
import { within } from './within.ts'

export interface ConformanceSample {
  /** ends the test's sentence */
  name: string
  bytes: Uint8Array
}

export interface ConformanceSamples {
  /** small valid packages of every form in the format */
  good(): Promise<ConformanceSample[]>
  /** files that must be refused with a sentence */
  hostile(): Promise<ConformanceSample[]>
  /** versions in rising order */
  versions: readonly string[]
}

/** Limit for a read and a pass over the members, which take milliseconds. */
const LONGEST_READ_MS = 10_000

/** Files of other kinds: no format may recognize them. Other formats' packages are recognized by their magic bytes. */
const STRANGERS: readonly [string, Uint8Array][] = [
  ['nothing', new Uint8Array(0)],
  ['one byte', new Uint8Array(1)],
  ['text', Buffer.from('Package: sample\nVersion: 1\n')],
  ['a library of objects', Buffer.from('!<arch>\nobject.o/       0           0     0     644     4         `\nabcd')],
  ['a zip', Buffer.from('PK\x03\x04zip')],
  ['a program', Buffer.from('\x7fELF\x02\x01\x01', 'latin1')],
  ['an xz stream', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0, 0])],
  ['a gzip of text', gzipSync('no package at all')],
]
const MAGIC_OF: Readonly<Record<string, Uint8Array>> = {
  deb: Buffer.from('!<arch>\ndebian-binary   1700000000  0     0     100644  4         `\n2.0\n'),
  rpm: Buffer.concat([Buffer.from([0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0]), Buffer.alloc(88)]),
}

/** Registers the tests; call it in the format's own test file. */
export function conformance(format: PackageFormat, samples: ConformanceSamples): void {
  describe(`conformance of ${format.id}`, () => {
    let directory: string
    let good: ConformanceSample[]
    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'conformance-'))
      good = await samples.good()
      expect(good.length).toBeGreaterThan(0)
    })
    afterAll(() => rm(directory, { recursive: true }))

    let count = 0
    async function stored(bytes: Uint8Array): Promise<string> {
      const path = join(directory, String(count++))
      await writeFile(path, bytes)
      return path
    }

    async function readSample(bytes: Uint8Array): Promise<StoredPackage> {
      const facts = await format.read(await stored(bytes))
      const digest = (kind: string) => createHash(kind).update(bytes).digest('hex')
      return {
        facts,
        filename: format.filename(facts),
        sizeBytes: bytes.length,
        digests: { sha256: digest('sha256'), sha512: digest('sha512'), sha1: digest('sha1'), md5: digest('md5') },
        addedAt: 1_700_000_000,
      }
    }

    it('recognises its own packages by their first 4 KiB', () => {
      for (const { name, bytes } of good) expect(format.recognizes(bytes.subarray(0, 4096)), name).toBe(true)
    })

    it('does not recognise packages of other formats', () => {
      const others = Object.entries(MAGIC_OF).filter(([id]) => id !== format.id)
      for (const [name, bytes] of [...STRANGERS, ...others]) expect(format.recognizes(bytes), name).toBe(false)
    })

    it('reads the same facts twice, and back from JSON', async () => {
      for (const { name, bytes } of good) {
        const [first, second] = [await readSample(bytes), await readSample(bytes)]
        expect(second, name).toEqual(first)
        expect(JSON.parse(JSON.stringify(first.facts)), name).toEqual(first.facts)
        expect(JSON.stringify(first.facts), name).not.toContain('\\u0000')
      }
    })

    it('makes file names that are safe in a path and a URL', async () => {
      for (const { name, bytes } of good) {
        const pkg = await readSample(bytes)
        expect(pkg.filename, name).toMatch(/^[A-Za-z0-9][A-Za-z0-9.+_~^-]*$/)
        const file = { filename: pkg.filename, sha256: pkg.digests.sha256, arch: pkg.facts.arch }
        for (const path of format.packagePaths(file, format.distributions[0]!)) {
          expect(path.split('/'), name).not.toContain('..')
          expect(path.endsWith(pkg.filename), name).toBe(true)
        }
      }
    })

    it('yields every member once, with its declared size', async () => {
      for (const { name, bytes } of good) {
        let members = 0
        for await (const member of format.members(await stored(bytes))) {
          let size = 0
          for await (const piece of member.content) size += piece.length
          expect(size, `${name} ${member.name}`).toBe(member.sizeBytes)
          members++
        }
        let skipped = 0
        for await (const _ of format.members(await stored(bytes))) skipped++
        expect(skipped, name).toBe(members)
      }
    })

    it('renders an entry from stored facts as from read ones', async () => {
      for (const { name, bytes } of good) {
        const pkg = await readSample(bytes)
        for (const distribution of format.distributions) {
          const entry = format.entry(pkg, distribution)
          expect(Object.keys(entry).sort(), name).toEqual(format.streams.map((stream) => stream.key).sort())
          const again = format.entry({ ...pkg, facts: JSON.parse(JSON.stringify(pkg.facts)) }, distribution)
          for (const [key, part] of Object.entries(entry))
            expect(Buffer.from(part).equals(again[key]!), name).toBe(true)
        }
      }
    })

    it('renders the same index twice, and an empty one', async () => {
      const packages = await Promise.all(good.map(({ bytes }) => readSample(bytes)))
      for (const distribution of format.distributions) {
        for (const offered of [[], packages]) {
          const render = () => renderIndex(format, distribution, offered)
          const [first, second] = [await render(), await render()]
          expect(second).toEqual(first)
          expect(new Set(first.map((file) => file.path)).size).toBe(first.length)
        }
      }
    })

    it('refuses a truncated file with a clear problem in a short time', async () => {
      for (const { name, bytes } of good) {
        for (let part = 0; part < 50; part++) {
          const length = Math.floor((bytes.length * part) / 50)
          const outcome = await attempt(format, await stored(bytes.subarray(0, length)))
          expect(outcome, `${name} cut at ${length}`).toMatch(/^problem: /)
        }
      }
    })

    it('accepts a damaged file or refuses it with a clear problem in a short time', async () => {
      const random = seeded(20261121)
      for (const { name, bytes } of good) {
        for (let round = 0; round < 100; round++) {
          const damaged = Buffer.from(bytes)
          const where = Array.from({ length: 1 + random(3) }, () => random(damaged.length))
          for (const at of where) damaged[at] = random(256)
          const outcome = await attempt(format, await stored(damaged))
          expect(outcome, `${name} damaged at ${where.join()}`).toMatch(/^(package|problem: )/)
        }
      }
    })

    it('refuses every hostile sample in one sentence', async () => {
      for (const { name, bytes } of await samples.hostile()) {
        expect(await attempt(format, await stored(bytes)), name).toMatch(/^problem: [a-z.][^\n]{5,300}[^.]$/)
      }
    })

    it('orders versions totally', () => {
      const { versions } = samples
      for (const [i, a] of versions.entries()) {
        expect(format.versions.isValid(a), a).toBe(true)
        for (const [j, b] of versions.entries()) {
          expect(Math.sign(format.versions.compare(a, b)), `${a} ${b}`).toBe(Math.sign(i - j))
        }
      }
    })
  })
}

/** The result of a read, and of a pass over the members. @throws when they take too long */
async function attempt(format: PackageFormat, path: string): Promise<string> {
  const outcomes = await within(LONGEST_READ_MS, async () => [
    await format.read(path).then(() => 'package', described),
    await passOver(format, path).then(() => 'package', described),
  ])
  return outcomes.find((outcome) => !/^(package|problem: )/.test(outcome)) ?? outcomes[0]!
}

async function passOver(format: PackageFormat, path: string): Promise<void> {
  for await (const member of format.members(path)) for await (const _ of member.content);
}

function described(error: unknown): string {
  return isProblem(error, 'invalid_package') ? `problem: ${error.detail}` : `crash: ${String((error as Error).stack)}`
}

async function renderIndex(
  format: PackageFormat,
  distribution: PackageFormat['distributions'][number],
  packages: readonly StoredPackage[],
): Promise<IndexFile[]> {
  const entries = packages.map((pkg) => format.entry(pkg, distribution))
  return format.index({
    distribution,
    revision: 7,
    date: new Date('2026-11-21T11:00:00Z'),
    architectures: distribution.architectures,
    count: () => packages.length,
    compose: async (stream, _arch, head, tail) =>
      composeSample([head, ...entries.map((entry) => entry[stream]!), tail]),
    signers: sampleSigners,
    backgroundIndexes: [],
  })
}

/** A stream of these pieces, compressed at once. */
export function composeSample(pieces: readonly Uint8Array[]): ComposedStream {
  const plain = Buffer.concat(pieces)
  const rendering = (bytes: Buffer): Rendering => ({
    sizeBytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    parts: [bytes],
  })
  return { plain: rendering(plain), gz: rendering(gzipSync(plain)), xz: null }
}

/** Signers whose signatures are digests: repeatable, and dependent on the signed content. */
export const sampleSigners: Signers = {
  openpgp: {
    fingerprint: 'A'.repeat(40),
    publicKeyArmored: 'sample key',
    clearsign: async (text, at) => `signed ${at.toISOString()}\n${text}`,
    detach: async (content, at) =>
      `signature ${at.toISOString()} ${createHash('sha256').update(content).digest('hex')}\n`,
    detachBinary: async (content) => {
      const bytes = content instanceof Uint8Array ? content : await buffer(content)
      return createHash('sha256').update(bytes).digest()
    },
  },
  apk: {
    keyName: 'svc.rsa.pub',
    publicKeyPem: 'sample key',
    sign: async (content) => createHash('sha256').update(content).digest(),
  },
}

/** A small generator of repeatable numbers. */
function seeded(seed: number): (below: number) => number {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
}
