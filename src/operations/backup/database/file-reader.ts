// Reads a file forwards through one buffer.
import { open, type FileHandle } from 'node:fs/promises'
import { DumpError } from './dump-error.ts'

const BUFFER_BYTES = 256 * 1024

export interface FileReader {
  readonly size: number
  position(): number
  seek(position: number): void
  skip(bytes: number): void
  /** Reads exactly this many bytes. @throws DumpError when the file has fewer */
  take(bytes: number): Promise<Buffer>
}

/** @param size of the file, in bytes */
export function createFileReader(handle: FileHandle, size: number): FileReader {
  let buffer = Buffer.alloc(0)
  let start = 0
  let at = 0

  function seek(position: number): void {
    if (position > size) throw new DumpError(`the dump is truncated: it has ${size} bytes and more should follow`)
    at = position
  }

  return {
    size,
    position: () => at,
    seek,
    skip: (bytes) => seek(at + bytes),
    async take(bytes) {
      const from = at
      seek(at + bytes)
      if (from < start || from + bytes > start + buffer.length) {
        const next = Buffer.allocUnsafe(Math.max(bytes, BUFFER_BYTES))
        let filled = 0
        while (filled < bytes) {
          const { bytesRead } = await handle.read(next, filled, next.length - filled, from + filled)
          if (bytesRead === 0) throw new DumpError('the dump became shorter while it was read')
          filled += bytesRead
        }
        buffer = next.subarray(0, filled)
        start = from
      }
      return buffer.subarray(from - start, from - start + bytes)
    },
  }
}

export async function openForReading(path: string): Promise<{ handle: FileHandle; size: number }> {
  const handle = await open(path, 'r')
  return { handle, size: (await handle.stat()).size }
}
