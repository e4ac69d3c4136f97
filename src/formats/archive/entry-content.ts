// The content of one archive entry, which is read or skipped before the next header.
import type { ByteReader } from './byte-reader.ts'
import { invalid } from './limits.ts'

export interface EntryContent {
  content: AsyncIterable<Uint8Array>
  /** Drops the unread rest and `padding` bytes after it; from then on the content is empty. */
  finish(padding: number): Promise<void>
}

const PIECE_BYTES = 256 * 1024

/** @param what names the archive in error sentences */
export function createEntryContent(reader: ByteReader, sizeBytes: number, what: string): EntryContent {
  let left = sizeBytes
  async function* pieces(): AsyncGenerator<Uint8Array> {
    while (left > 0) {
      const piece = await reader.piece(Math.min(left, PIECE_BYTES))
      if (!piece) throw invalid(`the ${what} is truncated`)
      left -= piece.length
      yield piece
    }
  }
  return {
    content: { [Symbol.asyncIterator]: pieces },
    async finish(padding) {
      const rest = left
      left = 0
      await reader.skip(rest + padding)
    },
  }
}

const ZEROS = Buffer.alloc(PIECE_BYTES)

/** Reads the bytes after an archive's end; only zeros may follow. @throws Problem('invalid_package') for other bytes */
export async function expectZeros(reader: ByteReader, what: string): Promise<void> {
  for (let piece = await reader.piece(PIECE_BYTES); piece; piece = await reader.piece(PIECE_BYTES)) {
    if (ZEROS.compare(piece, 0, piece.length, 0, piece.length) !== 0)
      throw invalid(`the ${what} is followed by other bytes`)
  }
}

/** The whole content of an entry. @throws Problem('invalid_package') beyond `mostBytes` */
export async function readAll(content: AsyncIterable<Uint8Array>, mostBytes: number, what: string): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of content) {
    size += piece.length
    if (size > mostBytes) throw invalid(`the ${what} is larger than is allowed`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces, size)
}
