// Joins a stream's blocks into the files clients fetch; the digest of an unchanged beginning is not computed again.
import { createHash, type Hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { ComposedStream, Rendering } from '../../formats/format.ts'
import { rawOf, type Block } from './blocks.ts'
import { combineCrc, deflateBlock, GZIP_HEAD, gzipTail } from './gzip-member.ts'
import { xzBlock, XZ_HEAD, xzTail } from './xz-stream.ts'

/** A kept hash state after every so many blocks: the last of them is never far from an append. */
const STEP = 8

/** SHA-256 over pieces of which a beginning stays the same from one publish to the next. */
export class PrefixDigest {
  private states: Hash[] = []
  private head: Buffer | null = null

  /** Forgets what was kept about pieces from this index on. */
  truncate(index: number): void {
    this.states.length = Math.min(this.states.length, Math.floor(index / STEP))
  }

  digest(head: Uint8Array, pieces: readonly Uint8Array[], tail: Uint8Array): string {
    if (!this.head?.equals(head)) {
      this.head = Buffer.from(head)
      this.states = []
    }
    let at = this.states.length * STEP
    const hash = this.states.at(-1)?.copy() ?? createHash('sha256').update(head)
    for (; at < pieces.length; at++) {
      hash.update(pieces[at] as Uint8Array)
      if ((at + 1) % STEP === 0) this.states.push(hash.copy())
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

/** @param head @param tail text before and after the entries, compressed as blocks of their own */
export async function composeStream(
  blocks: readonly Block[],
  head: Uint8Array,
  tail: Uint8Array,
  xz: boolean,
  digests: StreamDigests,
): Promise<ComposedStream> {
  const plainSize = blocks.reduce((sum, block) => sum + block.size, head.byteLength + tail.byteLength)
  const [headGz, tailGz] = await Promise.all([
    head.byteLength ? deflateBlock(head) : EMPTY,
    tail.byteLength ? deflateBlock(tail) : EMPTY,
  ])
  let crc = crc32(head)
  for (const block of blocks) crc = combineCrc(crc, block.crc, block.size)
  crc = combineCrc(crc, crc32(tail), tail.byteLength)
  const gz = render(
    Buffer.concat([GZIP_HEAD, headGz]),
    blocks.map((b) => b.deflated),
    Buffer.concat([tailGz, gzipTail(crc, plainSize)]),
    digests.gz,
  )
  return {
    // A format that does not list the plain digest (rpm) does not pay for it.
    plain: {
      sizeBytes: plainSize,
      get sha256() {
        return digests.plain.digest(head, blocks.map(rawOf), tail)
      },
    },
    gz,
    xz: xz ? await composeXz(blocks, head, tail, digests.xz) : null,
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

function render(head: Uint8Array, pieces: readonly Uint8Array[], tail: Uint8Array, digest: PrefixDigest): Rendering {
  const parts = [head, ...pieces, tail]
  return { sizeBytes: total(parts), sha256: digest.digest(head, pieces, tail), parts }
}

function total(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.byteLength, 0)
}
