// Bytes that are read more than once: in memory if they are few, else in a file. Knows no container.
import { bufferSource, type ZipSource } from './zip.ts'

/** A new file; the unpacking code may not be allowed to write files itself. */
export interface SpoolFile {
  append(piece: Uint8Array): Promise<void>
  /** Ends the writing. @returns the written bytes, and the file's number if it has one */
  whole(): Promise<ZipSource & { number: number | null }>
  remove(): Promise<void>
}

/** Can be read at any offset, or from beginning to end. */
export interface Spooled extends ZipSource {
  /** of the file that holds the bytes; null for bytes in memory */
  number: number | null
  stream(): AsyncGenerator<Uint8Array>
  remove(): Promise<void>
}

const IN_MEMORY_BYTES = 1024 * 1024
const PIECE_BYTES = 64 * 1024

/**
 * Reads the content to its end.
 * @param createFile makes a file that `remove` deletes
 */
export async function spool(
  content: AsyncIterable<Uint8Array>,
  createFile: () => SpoolFile,
  mostInMemory = IN_MEMORY_BYTES,
): Promise<Spooled> {
  const pieces: Uint8Array[] = []
  let size = 0
  let file: SpoolFile | null = null
  try {
    for await (const piece of content) {
      size += piece.length
      if (!file && size > mostInMemory) {
        file = createFile()
        for (const kept of pieces.splice(0)) await file.append(kept)
      }
      if (file) await file.append(piece)
      // A decoder may reuse the memory of a piece for the next one.
      else pieces.push(Buffer.from(piece))
    }
    return spooled(file ? await file.whole() : { ...bufferSource(Buffer.concat(pieces)), number: null }, file)
  } catch (error) {
    await file?.remove()
    throw error
  }
}

function spooled(source: ZipSource & { number: number | null }, file: SpoolFile | null): Spooled {
  return {
    ...source,
    async *stream() {
      for (let at = 0; at < source.sizeBytes; at += PIECE_BYTES)
        yield await source.read(at, Math.min(PIECE_BYTES, source.sizeBytes - at))
    },
    remove: async () => file?.remove(),
  }
}
