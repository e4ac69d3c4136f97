// Reads a byte range of a file piece by piece; knows nothing of what is in it.
import { open } from 'node:fs/promises'
import { invalid } from './limits.ts'

const PIECE_BYTES = 128 * 1024

/**
 * The bytes of `path` from `start` up to, not including, `end`; the whole file where no range is given. The file is
 * closed when the loop ends, however it ends.
 * @throws Problem('invalid_package') when the file ends before `end`
 */
export async function* fileRange(path: string, start = 0, end?: number): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await open(path, 'r')
  try {
    const stop = end ?? (await handle.stat()).size
    for (let at = start; at < stop;) {
      // A new buffer each time: whoever reads may keep the piece.
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, stop - at))
      const { bytesRead } = await handle.read(piece, 0, piece.length, at)
      if (bytesRead === 0) throw invalid('The file is truncated.')
      at += bytesRead
      yield piece.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}
