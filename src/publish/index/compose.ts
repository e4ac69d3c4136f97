// Joins a stream's blocks into the files that clients fetch. The digest of an unchanged beginning is not computed again.
import { createHash, type Hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { ComposedStream, Rendering } from '../../formats/format.ts'
import { createPacer } from '../../kernel/pacer.ts'
import { rawOf, type Block, type BlockSpec } from './blocks.ts'
import { combineCrc, deflateBlock, GZIP_HEAD, gzipTail } from './gzip-member.ts'
import { xzBlock, XZ_HEAD, xzTail } from './xz-stream.ts'

/** Blocks between two kept hash states: an append hashes at most this many unchanged blocks again. */
const STEP = 8

/** SHA-256 over pieces that begin with the same pieces in every publish. */
export class PrefixDigest {
  private states: Hash[] = []
  private head: Buffer | null = null

  /** Drops the hash states of pieces from this index on. */
  truncate(index: number): void {
    this.states.length = Math.min(this.states.length, Math.floor(index / STEP))
  }

  /** @param pieceAt may unpack the piece, so it is called only for pieces that are hashed */
  async digest(
    head: Uint8Array,
    count: number,
    pieceAt: (index: number) => Uint8Array,
    tail: Uint8Array,
  ): Promise<string> {
    if (!this.head?.equals(head)) {
      this.head = Buffer.from(head)
      this.states = []
    }
    let at = this.states.length * STEP
    const hash = this.states.at(-1)?.copy() ?? createHash('sha256').update(head)
    const pace = createPacer()
    for (; at < count; at++) {
      hash.update(pieceAt(at))
      if ((at + 1) % STEP === 0) this.states.push(hash.copy())
      await pace()
    }
    return hash.update(tail).digest('hex')
  }
}

/** The digests kept for one stream of one distribution. */
export interface StreamDigests {
  plain: PrefixDigest
  gz: PrefixDigest
  xz: PrefixDigest
}

export function createStreamDigests(): StreamDigests {
  return { plain: new PrefixDigest(), gz: new PrefixDigest(), xz: new PrefixDigest() }
}

const EMPTY = Buffer.alloc(0)

/** @param head @param tail text before and after the entries, compressed as separate blocks */
export async function composeStream(
  blocks: readonly Block[],
  head: Uint8Array,
  tail: Uint8Array,
  spec: BlockSpec,
  digests: StreamDigests,
): Promise<ComposedStream> {
  const plainSize = blocks.reduce((sum, block) => sum + block.size, head.byteLength + tail.byteLength)
  const [headGz, tailGz] = await Promise.all([
    head.byteLength ? deflateBlock(head) : EMPTY,
    tail.byteLength ? deflateBlock(tail) : EMPTY,
  ])
  let crc = crc32(head)
  const pace = createPacer()
  for (const block of blocks) {
    crc = combineCrc(crc, block.crc, block.size)
    await pace()
  }
  crc = combineCrc(crc, crc32(tail), tail.byteLength)
  const gz = await render(
    Buffer.concat([GZIP_HEAD, headGz]),
    blocks.map((b) => b.deflated),
    Buffer.concat([tailGz, gzipTail(crc, plainSize)]),
    digests.gz,
  )
  const plain = spec.plainDigest
    ? await digests.plain.digest(head, blocks.length, (i) => rawOf(blocks[i] as Block), tail)
    : null
  return {
    plain: {
      sizeBytes: plainSize,
      // A format whose index does not list it (rpm, apk) does not compute it.
      get sha256() {
        if (plain === null) throw new Error('the stream is declared without a digest of its plain text')
        return plain
      },
    },
    gz,
    xz: spec.xz ? await composeXz(blocks, head, tail, digests.xz) : null,
  }
}

async function composeXz(
  blocks: readonly Block[],
  head: Uint8Array,
  tail: Uint8Array,
  digest: PrefixDigest,
): Promise<Rendering> {
  const [first, last] = await Promise.all([
    head.byteLength ? xzBlock(head, 'quick') : null,
    tail.byteLength ? xzBlock(tail, 'quick') : null,
  ])
  const middle = blocks.map((block) => {
    if (!block.xz) throw new Error('a block was made without its xz form')
    return block.xz
  })
  const all = [...(first ? [first] : []), ...middle, ...(last ? [last] : [])]
  return render(
    Buffer.concat([XZ_HEAD, first?.bytes ?? EMPTY]),
    middle.map((block) => block.bytes),
    Buffer.concat([last?.bytes ?? EMPTY, xzTail(all)]),
    digest,
  )
}

async function render(
  head: Uint8Array,
  pieces: readonly Uint8Array[],
  tail: Uint8Array,
  digest: PrefixDigest,
): Promise<Rendering> {
  const parts = [head, ...pieces, tail]
  const sha256 = await digest.digest(head, pieces.length, (i) => pieces[i] as Uint8Array, tail)
  return { sizeBytes: total(parts), sha256, parts }
}

function total(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.byteLength, 0)
}
