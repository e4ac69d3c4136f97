// A stream's entries cut into blocks whose compressed bytes are kept: a publish compresses only the blocks that changed.
import { crc32 } from 'node:zlib'
import type { StreamSpec } from '../../formats/format.ts'
import { inGroups } from '../../kernel/in-groups.ts'
import { createPacer } from '../../kernel/pacer.ts'
import { deflateBlock, inflateBlock } from './gzip-member.ts'
import { xzBlock, type XzBlock } from './xz-stream.ts'

/** One package's place in an index: entries are ordered by the revision that first published them, then by id. */
export interface EntryKey {
  id: number
  position: number
  /** 32 bits of the package file's SHA-256: decides where blocks end */
  weight: number
}

export interface IndexEntry extends EntryKey {
  bytes: Uint8Array
}

export interface Block {
  keys: EntryKey[]
  /** length of each entry in bytes */
  sizes: number[]
  /** of the uncompressed text */
  size: number
  /** null where a publish does not need it: a change that cuts the block again unpacks it (rpm, 50,000 packages: 100 MB less) */
  raw: Buffer | null
  crc: number
  deflated: Buffer
  xz: XzBlock | null
}

/** The properties of a stream that its blocks depend on. */
export type BlockSpec = Pick<StreamSpec, 'xz' | 'plainDigest'>

export function rawOf(block: Block): Buffer {
  return block.raw ?? inflateBlock(block.deflated)
}

/** Mean uncompressed size: smaller ones compress worse (64 KiB: 6 % larger files), larger ones cost more to compress again. */
const TARGET = 64 * 1024
/**
 * Mean size of the pieces that hold the end of an index until there is enough for a block. One more package compresses
 * only the last piece: 2.4 ms of xz; an open block of 64 KiB took 13.
 */
const STEP = 8 * 1024
/** No block or piece grows beyond this many times its mean. */
const MOST = 4

/**
 * Whether a block, or a piece, ends after this entry. Only the entry decides, with a probability in proportion to its
 * size. So a change moves only its own border, and a cold start makes the same blocks as a warm one. Where a block ends, a
 * piece ends too.
 */
function endsHere(entry: EntryKey, size: number, mean: number): boolean {
  return entry.weight < (size / mean) * 2 ** 32
}

export function compareKeys(a: EntryKey, b: EntryKey): number {
  return a.position - b.position || a.id - b.id
}

interface Draft {
  keys: EntryKey[]
  sizes: number[]
  parts: Uint8Array[]
  size: number
  closed: boolean
}

const newDraft = (): Draft => ({ keys: [], sizes: [], parts: [], size: 0, closed: false })

/** Cuts entries into drafts of this mean size; the last one may be open. */
function cut(entries: Iterable<IndexEntry>, drafts: Draft[], mean: number): void {
  let open = drafts.at(-1)
  for (const entry of entries) {
    if (!open || open.closed) drafts.push((open = newDraft()))
    open.keys.push({ id: entry.id, position: entry.position, weight: entry.weight })
    open.sizes.push(entry.bytes.byteLength)
    open.parts.push(entry.bytes)
    open.size += entry.bytes.byteLength
    open.closed = endsHere(entry, entry.bytes.byteLength, mean) || open.size >= MOST * mean
  }
}

/** Whether the block is a whole one, not a piece of the open end. */
function isClosed({ keys, sizes, size }: Block): boolean {
  return endsHere(keys.at(-1) as EntryKey, sizes.at(-1) as number, TARGET) || size >= MOST * TARGET
}

/** Cuts the open end into pieces. @param present the earlier pieces, reused where they are the same */
function inPieces(end: Draft, present: readonly Block[]): (Block | Draft)[] {
  const pieces: Draft[] = []
  cut(entriesOf(end), pieces, STEP)
  const known = new Map(present.map((block) => [block.keys[0]?.id, block]))
  return pieces.map((piece) => {
    const same = known.get(piece.keys[0]?.id)
    const isSame =
      same?.keys.length === piece.keys.length &&
      same.keys.every((key, i) => compareKeys(key, piece.keys[i] as EntryKey) === 0)
    return same && isSame ? same : { ...piece, closed: false }
  })
}

async function seal({ keys, sizes, parts, size, closed }: Draft, spec: BlockSpec): Promise<Block> {
  const raw = Buffer.concat(parts)
  const [deflated, xz] = await Promise.all([
    deflateBlock(raw),
    spec.xz ? xzBlock(raw, closed ? 'small' : 'quick') : null,
  ])
  return { keys, sizes, size, raw: closed && !spec.plainDigest ? null : raw, crc: crc32(raw), deflated, xz }
}

export function* entriesOf(from: Block | Draft): Generator<IndexEntry> {
  const raw = 'parts' in from ? null : rawOf(from)
  let at = 0
  for (const [i, key] of from.keys.entries()) {
    const size = from.sizes[i] as number
    yield { ...key, bytes: raw ? raw.subarray(at, at + size) : ((from as Draft).parts[i] as Uint8Array) }
    at += size
  }
}

/**
 * The blocks after a change.
 * @param removed keys to remove; unknown ones are ignored
 * @param added entries to add, each ordered after every present entry
 * @returns the new list (untouched blocks are the same objects) and the index of the first block that differs
 */
export async function changeBlocks(
  blocks: readonly Block[],
  removed: readonly EntryKey[],
  added: readonly IndexEntry[],
  spec: BlockSpec,
): Promise<{ blocks: Block[]; firstChanged: number }> {
  const gone = new Map<number, Set<number>>()
  const pace = createPacer()
  for (const key of removed) {
    await pace()
    const index = findBlock(blocks, key)
    if (index === -1) continue
    if (!gone.has(index)) gone.set(index, new Set())
    gone.get(index)?.add(key.id)
  }
  const end = blocks.findLastIndex(isClosed) + 1
  const endChanges = added.length > 0 || [...gone.keys()].some((index) => index >= end)
  const pending: (Block | Draft)[] = []
  let drafts: Draft[] = []
  for (const [index, block] of blocks.entries()) {
    await pace()
    const leaving = gone.get(index)
    const open = drafts.length > 0 && drafts.at(-1)?.closed === false
    if (!leaving && !open && !(index >= end && endChanges)) {
      pending.push(...drafts, block)
      drafts = []
      continue
    }
    cut(
      [...entriesOf(block)].filter((entry) => !leaving?.has(entry.id)),
      drafts,
      TARGET,
    )
  }
  cut([...added].sort(compareKeys), drafts, TARGET)
  const last = drafts.at(-1)
  pending.push(...(last && !last.closed ? [...drafts.slice(0, -1), ...inPieces(last, blocks.slice(end))] : drafts))
  const made = await inGroups(pending, 64, (item) => ('parts' in item ? seal(item, spec) : item))
  let firstChanged = 0
  while (firstChanged < made.length && made[firstChanged] === blocks[firstChanged]) firstChanged++
  return { blocks: made, firstChanged }
}

/** Index of the block that contains the key, or -1. */
function findBlock(blocks: readonly Block[], key: EntryKey): number {
  let low = 0
  let high = blocks.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareKeys(blocks[middle]?.keys.at(-1) as EntryKey, key) < 0) low = middle + 1
    else high = middle
  }
  return blocks[low]?.keys.some((k) => k.id === key.id) ? low : -1
}
