import { gzipSync } from 'node:zlib'
import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isProblem } from '../../domain/problem.ts'
import { compressSample, xzStored, zstdFrame, zstdRepeated } from '../../../test/samples/compress.ts'
import { within } from '../../../test/within.ts'
import { decompress, detectCompression, type Compression } from './compression.ts'
import type { Limits } from './limits.ts'

const LINES = Buffer.from(Array.from({ length: 60 }, (_, n) => `line ${n} of a text\n`).join(''))
// 60 lines as bzip2 1.0.8 writes them, and two million times `A`: three blocks in 50 bytes.
const LINES_BZ2 = Buffer.from(
  'QlpoOTFBWSZTWT8Ni0oAAWNZgAAQQAB/4CMlhEAwAKMGVGfqon/qqGIAoGmhkZMQRUh+qAAxPslt5ktvUlt520037Pfx5453XVVV2VwqqKuVVyqoq4xjHUlt6' +
    'VXIAZlgagYlgGA1lgBk0lgAFsAAACSSSUpJJkCtQV8BWwK2BWoK2BXMFbgrQFbgr+LuSKcKEgfhsWlA',
  'base64',
)
const MANY_A_BZ2 = Buffer.from('QlpoOTFBWSZTWc7KTEMAD1OkAIAAoAAACCAAMMwJqmnVipIbUVJDxdyRThQkM7KTEMA=', 'base64')

async function* inPieces(data: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size)
}

async function unpack(data: Uint8Array, kind: Compression, size = 65536, limits?: Partial<Limits>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of decompress(inPieces(data, size), kind, limits)) parts.push(part)
  return Buffer.concat(parts)
}

/** The detail of the Problem an unpacking ends in; anything else fails the test. */
async function refusal(data: Uint8Array, kind: Compression, size?: number, limits?: Partial<Limits>): Promise<string> {
  const outcome = await unpack(data, kind, size, limits).catch((error: unknown) => error)
  if (!isProblem(outcome, 'invalid_package'))
    throw new Error(`${kind}: expected a problem, got ${String(outcome).slice(0, 80)}`)
  return outcome.detail
}

async function samples(): Promise<[Compression, Buffer][]> {
  return [
    ['gzip', gzipSync(LINES)],
    ['xz', await compressSample(LINES, 'xz')],
    ['lzma', await compressSample(LINES, 'lzma')],
    ['zstd', zstdFrame(LINES)],
    ['bzip2', LINES_BZ2],
  ]
}

describe('decompress', () => {
  it('gives the same bytes however the input is cut', async () => {
    for (const [kind, data] of await samples()) {
      for (const size of [1, 2, 3, 7, 65536])
        expect((await unpack(data, kind, size)).equals(LINES), `${kind} ${size}`).toBe(true)
    }
  })

  it('knows each kind by its first bytes', async () => {
    for (const [kind, data] of await samples()) expect(detectCompression(data.subarray(0, 13))).toBe(kind)
    expect(detectCompression(LINES)).toBe('none')
    expect(detectCompression(new Uint8Array(0))).toBe('none')
  })

  it('refuses input cut off at any byte', async () => {
    for (const [kind, data] of await samples()) {
      for (let length = 0; length < data.length; length++) {
        const detail = await refusal(data.subarray(0, length), kind)
        expect(detail, `${kind} ${length}`).toMatch(/truncated|damaged/)
      }
    }
  })

  it('never gives other bytes for damaged input, and always ends', async () => {
    for (const [kind, data] of await samples()) {
      for (let at = 0; at < data.length; at++) {
        const damaged = Buffer.from(data)
        damaged[at]! ^= 1 << (at % 8)
        const outcome = await within(
          10_000,
          () => unpack(damaged, kind).catch((error: unknown) => error),
          `${kind} ${at}`,
        )
        if (outcome instanceof Buffer) {
          // Header bytes that do not matter (time, name); the zstd sample and .lzma carry no checksum.
          if (kind !== 'zstd' && kind !== 'lzma') expect(outcome.equals(LINES), `${kind} ${at}`).toBe(true)
        } else expect(isProblem(outcome, 'invalid_package'), `${kind} ${at}: ${String(outcome)}`).toBe(true)
      }
    }
  })

  it('reads concatenated streams whole, cut anywhere', async () => {
    for (const [kind, data] of await samples()) {
      if (kind === 'lzma') continue
      const twice = Buffer.concat([data, data])
      for (const size of [1, data.length - 1, data.length, data.length + 1, 65536]) {
        expect((await unpack(twice, kind, size)).equals(Buffer.concat([LINES, LINES])), `${kind} ${size}`).toBe(true)
      }
    }
  })

  it.each(['garbage', '\0', '\0\0\0\0\0', '\x1f\x8b', 'BZh9', '(\xb5/\xfd'])(
    'refuses %j after the data',
    async (text) => {
      const trailing = Buffer.from(text, 'latin1')
      for (const [kind, data] of await samples()) {
        for (const size of [1, data.length, 65536]) await refusal(Buffer.concat([data, trailing]), kind, size)
      }
    },
  )

  it('holds gzip to the same when there is too much of it to be unpacked at once', async () => {
    // Bytes that do not shrink: more than 64 KiB go in. And few that become many.
    const noise = Buffer.concat(Array.from({ length: 4000 }, (_, i) => createHash('sha256').update(`${i}`).digest()))
    for (const content of [noise, Buffer.alloc(400_000)]) {
      const data = gzipSync(content)
      expect((await unpack(data, 'gzip')).equals(content)).toBe(true)
      expect((await unpack(Buffer.concat([data, data]), 'gzip', 1000)).equals(Buffer.concat([content, content]))).toBe(
        true,
      )
      await refusal(Buffer.concat([data, Buffer.from('garbage')]), 'gzip')
      for (let i = 0; i < 40; i++) {
        const at = 10 + Math.floor(((data.length - 10) * i) / 40)
        expect(await refusal(data.subarray(0, at), 'gzip')).toMatch(/truncated|damaged/)
        const damaged = Buffer.from(data)
        damaged[at]! ^= 0x20
        // Bits that fill up to a byte mean nothing.
        const outcome = await unpack(damaged, 'gzip').catch((error: unknown) => error)
        expect(
          isProblem(outcome, 'invalid_package') || (outcome instanceof Buffer && outcome.equals(content)),
          `${at}`,
        ).toBe(true)
      }
    }
  })

  it('takes stream padding of xz, which is part of the format', async () => {
    const data = await compressSample(LINES, 'xz')
    const padded = Buffer.concat([data, Buffer.alloc(4), data])
    expect((await unpack(padded, 'xz')).length).toBe(2 * LINES.length)
  })

  it('passes over skippable zstd frames', async () => {
    const skippable = Buffer.concat([Buffer.from([0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0]), Buffer.from('abc')])
    const data = Buffer.concat([skippable, zstdFrame(LINES), skippable])
    expect((await unpack(data, 'zstd', 5)).equals(LINES)).toBe(true)
    expect(detectCompression(data)).toBe('zstd')
  })

  it('is not slowed down by the letters YZ, at which lzma-native cuts its input', async () => {
    const data = Buffer.from('YZ'.repeat(500_000))
    const stored = xzStored(data)
    expect((await within(20_000, () => unpack(stored, 'xz'))).equals(data)).toBe(true)
  })

  it('stops at the limit on output, and at an incredible ratio', async () => {
    const zeros = Buffer.alloc(4 * 1024 * 1024)
    const small: [Compression, Buffer][] = [
      ['gzip', gzipSync(zeros)],
      ['xz', await compressSample(zeros, 'xz')],
      ['zstd', zstdRepeated(0, 32)],
      ['bzip2', MANY_A_BZ2],
    ]
    for (const [kind, data] of small) {
      expect(await refusal(data, kind, 65536, { maxOutputBytes: 1_000_000 })).toContain(
        'unpacks to more than 1,000,000 bytes',
      )
      expect((await unpack(data, kind)).length, kind).toBeGreaterThanOrEqual(2_000_000)
    }
  })

  it('refuses an xz header that asks for gigabytes of memory', async () => {
    const data = await compressSample(LINES, 'lzma')
    data.writeUInt32LE(0xffff0000, 1)
    expect(await refusal(data, 'lzma')).toContain('memory')
  })

  it('refuses a bzip2 run length that overflows', async () => {
    // A block of RUNB symbols only: a sum in 32 bits wraps and passes for a short run.
    const bits: string[] = []
    const put = (value: number, count: number) => bits.push(value.toString(2).padStart(count, '0'))
    for (const byte of Buffer.from('BZh9')) put(byte, 8)
    put(0x314159, 24)
    put(0x265359, 24)
    put(0, 32)
    put(0, 1)
    put(0, 24)
    put(0x8000, 16)
    put(0x8000, 16)
    put(2, 3)
    put(1, 15)
    put(0, 1)
    // two tables of three symbols, each code two bits long
    for (let table = 0; table < 2; table++) {
      put(2, 5)
      for (let symbol = 0; symbol < 3; symbol++) put(0, 1)
    }
    for (let n = 0; n < 45; n++) put(1, 2)
    const text = bits.join('').padEnd(4000, '0')
    const data = Buffer.from(text.match(/.{8}/g)!.map((byte) => parseInt(byte, 2)))
    expect(await refusal(data, 'bzip2')).toContain('damaged')
  })

  it('gives its output in small pieces, however much a few bytes stand for', async () => {
    const sources: [Compression, Buffer][] = [
      ['bzip2', MANY_A_BZ2],
      ['zstd', zstdRepeated(0, 32)],
      ['gzip', gzipSync(Buffer.alloc(4_000_000))],
    ]
    for (const [kind, data] of sources) {
      for await (const piece of decompress(inPieces(data, 65536), kind))
        expect(piece.length).toBeLessThanOrEqual(131072)
    }
  })

  it('decodes a hundred thousand empty bzip2 streams quickly', async () => {
    const empty = Buffer.from('BZh9\x17rE8P\x90\0\0\0\0', 'latin1')
    const many = Buffer.concat(Array.from({ length: 100_000 }, () => empty))
    expect((await within(30_000, () => unpack(many, 'bzip2'))).length).toBe(0)
  })

  it('yields to other work while it decodes', async () => {
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    await unpack(zstdRepeated(7, 400), 'zstd')
    clearInterval(timer)
    expect(turns).toBeGreaterThan(3)
  })

  it('stops at the signal', async () => {
    const controller = new AbortController()
    const work = (async () => {
      for await (const _ of decompress(inPieces(zstdRepeated(0, 1000), 64), 'zstd', { signal: controller.signal }))
        controller.abort()
    })()
    await expect(work).rejects.toThrow(/abort/i)
  })

  it('closes its source when the reader leaves early', async () => {
    for (const [kind, data] of await samples()) {
      let closed = false
      const source = (async function* () {
        try {
          for (;;) yield* inPieces(data, 50)
        } finally {
          closed = true
        }
      })()
      for await (const _ of decompress(source, kind)) break
      await expect.poll(() => closed, { message: kind }).toBe(true)
    }
  })

  it.each(['zstd', 'xz', 'lzma'] as const)('frees the memory of abandoned %s streams', async (kind) => {
    const data = kind === 'zstd' ? zstdRepeated(0, 100) : await compressSample(randomBytes(1_000_000), kind)
    const before = process.memoryUsage().rss
    for (let n = 0; n < 60; n++) for await (const _ of decompress(inPieces(data, 4096), kind)) break
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
  })

  it('decodes random data of many sizes', async () => {
    for (const size of [0, 1, 8191, 8192, 8193, 131072, 700_001]) {
      const data = randomBytes(size)
      const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
      for (const kind of ['gz', 'xz', 'lzma', 'zst'] as const) {
        const word = { gz: 'gzip', xz: 'xz', lzma: 'lzma', zst: 'zstd' } as const
        expect(digest(await unpack(await compressSample(data, kind), word[kind])), `${kind} ${size}`).toBe(digest(data))
      }
    }
  })
})
