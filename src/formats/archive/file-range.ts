// Reads a byte range of a file piece by piece.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { isRemote } from '../../kernel/remote.ts'
import { invalid } from './limits.ts'

const PIECE_BYTES = 128 * 1024

/**
 * The bytes of `path` from `start` up to, not including, `end`; the whole file without a range. The file is closed
 * when the loop ends, even by an error.
 * @throws Problem('invalid_package') when the file ends before `end`
 */
export async function* fileRange(path: string, start = 0, end?: number): AsyncGenerator<Uint8Array, void, undefined> {
  if (end !== undefined && end - start <= PIECE_BYTES) {
    const piece = await readPiece(path, start, end - start)
    if (piece.length < end - start) throw invalid('the file is truncated')
    if (piece.length > 0) yield piece
    return
  }
  const handle = await open(path, 'r')
  try {
    const stop = end ?? (await handle.stat()).size
    for (let at = start; at < stop;) {
      // A new buffer each time, because the reader may keep the piece.
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, stop - at))
      const { bytesRead } = await handle.read(piece, 0, piece.length, at)
      if (bytesRead === 0) throw invalid('the file is truncated')
      at += bytesRead
      yield piece.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

/**
 * Up to `length` bytes from `start`, fewer if the file ends. For small pieces only: a file that was just written is in the
 * page cache, so a synchronous read takes 0.02 ms, while asynchronous open, read and close take 0.3. On a remote file system
 * the read is asynchronous.
 */
export async function readPiece(path: string, start: number, length: number): Promise<Buffer> {
  if (isRemote(path)) return readPieceLater(path, start, length)
  const file = openSync(path, 'r')
  try {
    // A hostile length must not allocate memory.
    const piece = Buffer.allocUnsafeSlow(Math.max(0, Math.min(length, fstatSync(file).size - start)))
    let have = 0
    for (let got = -1; have < piece.length && got !== 0; have += got)
      got = readSync(file, piece, have, piece.length - have, start + have)
    return piece.subarray(0, have)
  } finally {
    closeSync(file)
  }
}

async function readPieceLater(path: string, start: number, length: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const piece = Buffer.allocUnsafeSlow(Math.max(0, Math.min(length, size - start)))
    let have = 0
    for (let got = -1; have < piece.length && got !== 0; have += got)
      got = (await file.read(piece, have, piece.length - have, start + have)).bytesRead
    return piece.subarray(0, have)
  } finally {
    await file.close()
  }
}
