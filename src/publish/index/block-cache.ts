// Keeps a distribution's blocks on disk, so that a start does not compress everything anew. Losing it only costs time.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import type { PackageFormat } from '../../formats/format.ts'
import { isMissing, replaceFile } from '../../kernel/files.ts'
import type { Block } from './blocks.ts'
import { inflateBlock } from './gzip-member.ts'
import { createStreamDigests } from './compose.ts'
import type { IndexState } from './index-state.ts'

/** Raised with every change of what a block is made of: an older file is then ignored. */
const VERSION = 1
const DIGEST_BYTES = 32

interface StoredBlock {
  ids: number[]
  positions: number[]
  weights: number[]
  sizes: number[]
  crc: number
  deflated: number
  /** length, unpadded, uncompressed */
  xz: [number, number, number] | null
}

interface Header {
  version: number
  revision: number
  count: number
  streams: Record<string, StoredBlock[]>
}

/** One file: SHA-256 of the rest, length of the header, header as JSON, compressed blocks in its order. */
export async function saveBlocks(path: string, state: IndexState): Promise<void> {
  const bodies: Buffer[] = []
  const streams: Header['streams'] = {}
  for (const [key, stream] of state.streams) {
    streams[key] = stream.blocks.map((block) => {
      bodies.push(block.deflated, ...(block.xz ? [block.xz.bytes] : []))
      return {
        ids: block.keys.map((k) => k.id),
        positions: block.keys.map((k) => k.position),
        weights: block.keys.map((k) => k.weight),
        sizes: block.sizes,
        crc: block.crc,
        deflated: block.deflated.byteLength,
        xz: block.xz ? [block.xz.bytes.byteLength, block.xz.unpadded, block.xz.uncompressed] : null,
      }
    })
  }
  const header = Buffer.from(
    JSON.stringify({ version: VERSION, revision: state.revision, count: state.count, streams } satisfies Header),
  )
  const length = Buffer.alloc(4)
  length.writeUInt32BE(header.byteLength)
  const rest = Buffer.concat([length, header, ...bodies])
  await replaceFile(path, Buffer.concat([createHash('sha256').update(rest).digest(), rest]))
}

/** @returns null when there is no file, or one that is damaged, older or of other streams */
export async function loadBlocks(path: string, format: PackageFormat): Promise<IndexState | null> {
  let file: Buffer
  try {
    file = await readFile(path)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
  const rest = file.subarray(DIGEST_BYTES)
  if (!createHash('sha256').update(rest).digest().equals(file.subarray(0, DIGEST_BYTES))) return null
  const headerEnd = 4 + rest.readUInt32BE(0)
  const header = JSON.parse(rest.toString('utf8', 4, headerEnd)) as Header
  if (header.version !== VERSION) return null
  let at = headerEnd
  // Copies, so that a block's life does not keep the whole file in memory.
  const take = (length: number) => Buffer.from(rest.subarray(at, (at += length)))
  const streams: IndexState['streams'] = new Map()
  for (const spec of format.streams) {
    const stored = header.streams[spec.key]
    if (!stored) return null
    const blocks: Block[] = []
    for (const item of stored) {
      const deflated = take(item.deflated)
      const raw = inflateBlock(deflated)
      if (crc32(raw) !== item.crc || spec.xz !== (item.xz !== null)) return null
      blocks.push({
        keys: item.ids.map((id, i) => ({ id, position: item.positions[i] ?? 0, weight: item.weights[i] ?? 0 })),
        sizes: item.sizes,
        size: raw.byteLength,
        raw: spec.plainDigest ? raw : null,
        crc: item.crc,
        deflated,
        xz: item.xz && { bytes: take(item.xz[0]), unpadded: item.xz[1], uncompressed: item.xz[2] },
      })
    }
    streams.set(spec.key, { spec, blocks, digests: createStreamDigests() })
  }
  return { revision: header.revision, count: header.count, streams, unlinked: new Map() }
}
