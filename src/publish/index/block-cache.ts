// Keeps a distribution's blocks on disk, so that a start does not compress everything again. A lost file only costs time.
import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Offered } from '../../formats/format.ts'
import { createFile, ensureDirectory, fsyncPath, ifMissing, removeFile } from '../../kernel/files.ts'
import { renameName } from '../../kernel/names.ts'
import { createPacer } from '../../kernel/pacer.ts'
import type { Block } from './blocks.ts'
import { inflateBlock } from './gzip-member.ts'
import { emptyState, type IndexState } from './index-state.ts'

/** Raised with every change of the file format or of the content of a block: older files are then ignored. */
const VERSION = 3
const DIGEST_BYTES = 32
/** Bytes written and hashed at a time. */
const PIECE_BYTES = 1024 * 1024

/** The first record. */
interface Header {
  version: number
  revision: number
  /** number of blocks of each stream, in their order in the file */
  streams: Record<string, number>
}

/** Before each block; its compressed bytes follow. */
interface BlockHeader {
  ids: number[]
  positions: number[]
  weights: number[]
  sizes: number[]
  crc: number
  deflated: number
  /** length, unpadded size, uncompressed size */
  xz: [number, number, number] | null
}

/** One file: records, each with a length, a JSON header and its bytes, then SHA-256 of everything before. */
export async function saveBlocks(path: string, state: IndexState): Promise<void> {
  // A first publish interrupted by a deletion has blocks, but no directory yet.
  await ensureDirectory(dirname(path))
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await createFile(temporary, 0o644)
  try {
    const hash = createHash('sha256')
    let waiting: Uint8Array[] = []
    let size = 0
    const flush = async () => {
      for (const piece of waiting) hash.update(piece)
      await file.write(...waiting)
      waiting = []
      size = 0
    }
    const add = async (...pieces: Uint8Array[]) => {
      waiting.push(...pieces)
      size += pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
      // IOV_MAX is 1024 on Linux.
      if (size >= PIECE_BYTES || waiting.length > 500) await flush()
    }
    const streams = Object.fromEntries([...state.streams].map(([key, { blocks }]) => [key, blocks.length]))
    const header: Header = { version: VERSION, revision: state.revision, streams }
    await add(record(header))
    for (const { blocks } of state.streams.values()) {
      for (const block of blocks)
        await add(record(headerOf(block)), block.deflated, ...(block.xz ? [block.xz.bytes] : []))
    }
    await flush()
    await file.write(hash.digest())
    await file.flush()
    await renameName(temporary, path)
  } catch (error) {
    await removeFile(temporary)
    throw error
  } finally {
    await file.close()
  }
  await fsyncPath(dirname(path))
}

function headerOf({ keys, sizes, crc, deflated, xz }: Block): BlockHeader {
  return {
    ids: keys.map((key) => key.id),
    positions: keys.map((key) => key.position),
    weights: keys.map((key) => key.weight),
    sizes,
    crc,
    deflated: deflated.byteLength,
    xz: xz ? [xz.bytes.byteLength, xz.unpadded, xz.uncompressed] : null,
  }
}

function record(header: Header | BlockHeader): Buffer {
  const json = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(json.byteLength)
  return Buffer.concat([length, json])
}

/** @returns null when there is no file, or when it is damaged, of an older version or of other streams */
export async function loadBlocks(path: string, offered: Offered): Promise<IndexState | null> {
  const file = await readFile(path).catch(ifMissing(null))
  if (!file) return null
  if (!(await isWhole(file))) return null
  let at = 0
  const take = (length: number) => file.subarray(at, (at += length))
  const takeHeader = () => JSON.parse(take(take(4).readUInt32BE(0)).toString()) as unknown
  const header = takeHeader() as Header
  if (header.version !== VERSION) return null
  const state: IndexState = { ...emptyState(offered), revision: header.revision, linked: header.revision }
  if (JSON.stringify(Object.keys(header.streams)) !== JSON.stringify([...state.streams.keys()])) return null
  const pace = createPacer()
  for (const [key, stream] of state.streams) {
    const { spec, blocks } = stream
    for (let left = header.streams[key] ?? 0; left > 0; left--) {
      const { ids, positions, weights, sizes, crc, deflated: length, xz } = takeHeader() as BlockHeader
      if (spec.xz !== (xz !== null)) return null
      // Copies, so that a block does not keep the whole file in memory.
      const deflated = Buffer.from(take(length))
      const raw = inflateBlock(deflated)
      if (crc32(raw) !== crc) return null
      blocks.push({
        keys: ids.map((id, i) => ({ id, position: positions[i] ?? 0, weight: weights[i] ?? 0 })),
        sizes,
        size: raw.byteLength,
        raw: spec.plainDigest ? raw : null,
        crc,
        deflated,
        xz: xz && { bytes: Buffer.from(take(xz[0])), unpadded: xz[1], uncompressed: xz[2] },
      })
      await pace()
    }
  }
  return state
}

async function isWhole(file: Buffer): Promise<boolean> {
  const end = file.byteLength - DIGEST_BYTES
  if (end < 0) return false
  const pace = createPacer()
  const hash = createHash('sha256')
  for (let at = 0; at < end; at += PIECE_BYTES) {
    hash.update(file.subarray(at, Math.min(end, at + PIECE_BYTES)))
    await pace()
  }
  return hash.digest().equals(file.subarray(end))
}
