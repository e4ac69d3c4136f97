// Bytes that are read more than once: in memory while they are few, in a file above. Knows no container.
import { open, rm, type FileHandle } from 'node:fs/promises'
import { bufferSource, fileSource, type ZipSource } from '../../archive/zip.ts'

/** Read at any place, or from the beginning to the end. */
export interface Spooled extends ZipSource {
  stream(): AsyncGenerator<Uint8Array>
  remove(): Promise<void>
}

const IN_MEMORY_BYTES = 1024 * 1024
const PIECE_BYTES = 64 * 1024

/**
 * Reads the content to its end.
 * @param newPath names a file that `remove` deletes
 */
export async function spool(content: AsyncIterable<Uint8Array>, newPath: () => string): Promise<Spooled> {
  const pieces: Uint8Array[] = []
  let size = 0
  let file: FileHandle | null = null
  let path = ''
  try {
    for await (const piece of content) {
      size += piece.length
      if (!file && size > IN_MEMORY_BYTES) {
        path = newPath()
        file = await open(path, 'wx+', 0o600)
        for (const kept of pieces.splice(0)) await file.appendFile(kept)
      }
      if (file) await file.appendFile(piece)
      // A decoder may use the memory of a piece again for the next one.
      else pieces.push(Buffer.from(piece))
    }
  } catch (error) {
    await close(file, path)
    throw error
  }
  const source = file ? await fileSource(file) : bufferSource(Buffer.concat(pieces))
  return {
    ...source,
    async *stream() {
      for (let at = 0; at < source.sizeBytes; at += PIECE_BYTES)
        yield await source.read(at, Math.min(PIECE_BYTES, source.sizeBytes - at))
    },
    remove: () => close(file, path),
  }
}

async function close(file: FileHandle | null, path: string): Promise<void> {
  await file?.close()
  if (path !== '') await rm(path, { force: true })
}
