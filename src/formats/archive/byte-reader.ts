// Reads exact numbers of bytes from a stream of pieces.
import { invalid } from './limits.ts'

const EMPTY = new Uint8Array(0)

/** A place in a stream of bytes. One caller at a time. */
export interface ByteReader {
  /** bytes taken so far */
  readonly position: number
  /** Exactly `count` bytes in one piece. @throws Problem('invalid_package') when the stream ends before */
  read(count: number): Promise<Uint8Array>
  /** `count` bytes, or fewer if the stream ends; none at its end. */
  readUpTo(count: number): Promise<Uint8Array>
  /** The next piece as it comes, at most `limit` bytes; null at the end. */
  piece(limit: number): Promise<Uint8Array | null>
  /** Drops exactly `count` bytes. @throws Problem('invalid_package') when the stream ends before */
  skip(count: number): Promise<void>
  /** Ends the underlying stream, so that files and decoders close. */
  close(): Promise<void>
}

/** @param what names the source in the error sentence: `the ${what} is truncated` */
export function createByteReader(source: AsyncIterable<Uint8Array>, what: string): ByteReader {
  const iterator = source[Symbol.asyncIterator]()
  let current: Uint8Array = EMPTY
  let position = 0
  let ended = false

  async function fill(): Promise<boolean> {
    while (current.length === 0 && !ended) {
      const next = await iterator.next()
      if (next.done) ended = true
      else current = next.value
    }
    return current.length > 0
  }

  function cut(limit: number): Uint8Array {
    const piece = current.subarray(0, limit)
    current = current.subarray(piece.length)
    position += piece.length
    return piece
  }

  async function readUpTo(count: number): Promise<Uint8Array> {
    if (count === 0 || !(await fill())) return EMPTY
    if (current.length >= count) return cut(count)
    // Grows with the bytes that arrive, so that a hostile length allocates nothing.
    const pieces: Uint8Array[] = []
    let have = 0
    while (have < count && (await fill())) {
      const piece = cut(count - have)
      pieces.push(piece)
      have += piece.length
    }
    return Buffer.concat(pieces, have)
  }

  return {
    get position() {
      return position
    },
    readUpTo,
    async read(count) {
      const bytes = await readUpTo(count)
      if (bytes.length < count) throw invalid(`the ${what} is truncated`)
      return bytes
    },
    async piece(limit) {
      return (await fill()) ? cut(limit) : null
    },
    async skip(count) {
      for (let left = count; left > 0;) {
        if (!(await fill())) throw invalid(`the ${what} is truncated`)
        left -= cut(left).length
      }
    },
    async close() {
      ended = true
      current = EMPTY
      await iterator.return?.()
    },
  }
}
