import { expect, test } from 'vitest'
import { createHash, randomInt } from 'node:crypto'
import { crc32, gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import lzma from 'lzma-native'
import { changeBlocks, entriesOf, type Block, type IndexEntry } from './blocks.ts'
import { composeStream, createStreamDigests } from './compose.ts'
import { combineCrc } from './gzip-member.ts'

const PLAIN = { xz: false, plainDigest: true }

function entry(id: number, size: number): IndexEntry {
  const digest = createHash('sha256').update(`${id}`).digest()
  return {
    id,
    position: id,
    weight: digest.readUInt32BE(0),
    bytes: Buffer.from(`${id}: ${digest.toString('hex').repeat(Math.ceil(size / 64))}`.slice(0, size)),
  }
}

const text = (entries: Iterable<IndexEntry>) => Buffer.concat([...entries].map((e) => e.bytes)).toString()
const all = (blocks: Block[]) => blocks.flatMap((block) => [...entriesOf(block)])
const unxz = (data: Buffer) => new Promise<Buffer>((resolve) => lzma.decompress(data, {}, resolve))

test('any sequence of changes gives the same bytes as a cold start from the same packages', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.array(
        fc.record({
          add: fc.array(fc.integer({ min: 20, max: 40_000 }), { maxLength: 12 }),
          remove: fc.array(fc.nat(60), { maxLength: 6 }),
        }),
        { maxLength: 6 },
      ),
      async (plainDigest, steps) => {
        const spec = { xz: false, plainDigest }
        let blocks: Block[] = []
        let present: IndexEntry[] = []
        let next = 1
        const digests = createStreamDigests()
        for (const step of steps) {
          const gone = step.remove.map((at) => present[at % Math.max(1, present.length)]).filter((e) => e !== undefined)
          const added = step.add.map((size) => entry(next++, size))
          present = [...present.filter((e) => !gone.includes(e)), ...added]
          const changed = await changeBlocks(blocks, gone, added, spec)
          for (const kept of changed.blocks.slice(0, changed.firstChanged)) expect(blocks).toContain(kept)
          digests.plain.truncate(changed.firstChanged)
          digests.gz.truncate(changed.firstChanged)
          blocks = changed.blocks
          const warm = await composeStream(blocks, Buffer.from('head'), Buffer.from('tail'), spec, digests)
          const cold = (await changeBlocks([], [], present, spec)).blocks
          const fresh = await composeStream(cold, Buffer.from('head'), Buffer.from('tail'), spec, createStreamDigests())
          expect(warm.gz.sha256).toBe(fresh.gz.sha256)
          const plain = gunzipSync(Buffer.concat(warm.gz.parts))
          expect(plain.toString()).toBe(`head${text(present)}tail`)
          if (plainDigest) {
            expect(warm.plain.sha256).toBe(fresh.plain.sha256)
            expect(createHash('sha256').update(plain).digest('hex')).toBe(warm.plain.sha256)
          }
          expect(text(all(blocks))).toBe(text(present))
        }
      },
    ),
    { numRuns: 60 },
  )
})

test('one more package changes one block, wherever it goes', async () => {
  const entries = Array.from({ length: 3000 }, (_, i) => entry(i + 1, 800))
  const { blocks } = await changeBlocks([], [], entries, PLAIN)
  const appended = await changeBlocks(blocks, [], [entry(9000, 800)], PLAIN)
  expect(appended.blocks.filter((block) => !blocks.includes(block)).length).toBeLessThanOrEqual(2)
  const removed = await changeBlocks(blocks, [entries[randomInt(3000)] as IndexEntry], [], PLAIN)
  expect(removed.blocks.filter((block) => !blocks.includes(block)).length).toBeLessThanOrEqual(4)
})

test('the cost of one more package does not grow with the size of the last block', async () => {
  let { blocks } = await changeBlocks(
    [],
    [],
    Array.from({ length: 2000 }, (_, i) => entry(i + 1, 800)),
    PLAIN,
  )
  let remade = 0
  for (let id = 5000; id < 5400; id++) {
    const changed = await changeBlocks(blocks, [], [entry(id, 800)], PLAIN)
    for (const block of changed.blocks) if (!blocks.includes(block)) remade += block.size
    blocks = changed.blocks
  }
  expect(remade / 400).toBeLessThan(16 * 1024)
})

test('the xz form of several blocks is one stream that an independent decoder reads whole', async () => {
  const entries = Array.from({ length: 400 }, (_, i) => entry(i + 1, 1500))
  const { blocks } = await changeBlocks([], [], entries, { xz: true, plainDigest: true })
  expect(blocks.length).toBeGreaterThan(3)
  const composed = await composeStream(
    blocks,
    Buffer.alloc(0),
    Buffer.from('end'),
    { xz: true, plainDigest: true },
    createStreamDigests(),
  )
  const file = Buffer.concat(composed.xz?.parts ?? [])
  expect(createHash('sha256').update(file).digest('hex')).toBe(composed.xz?.sha256)
  expect((await unxz(file)).toString()).toBe(`${text(entries)}end`)
})

test('an empty index is a readable gzip and xz file', async () => {
  const composed = await composeStream(
    [],
    Buffer.alloc(0),
    Buffer.alloc(0),
    { xz: true, plainDigest: true },
    createStreamDigests(),
  )
  expect(gunzipSync(Buffer.concat(composed.gz.parts))).toHaveLength(0)
  expect(await unxz(Buffer.concat(composed.xz?.parts ?? []))).toHaveLength(0)
})

test('the CRC of joined texts follows from the CRC of each', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), fc.uint8Array({ maxLength: 5000 }), (a, b) => {
      expect(combineCrc(crc32(a), crc32(b), b.length)).toBe(crc32(Buffer.concat([a, b])))
    }),
  )
})
