// The lines of an access log from a position on, plain or packed with gzip, in bounded memory.
import type { FileHandle } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { MOST_LINE_BYTES } from './log-line.ts'

export interface OpenLog {
  file: FileHandle
  packed: boolean
}

/** Whole lines of a log, one after the other. */
export interface Piece {
  /** without line feeds; each at most `MOST_LINE_BYTES` long */
  lines: string[]
  /** number of longer lines, which were skipped */
  tooLong: number
  /** end of the last line in unpacked bytes: reading can continue there */
  end: number
}

/** Small, because a batch ends with a chunk, which has about 650 lines. */
const CHUNK_BYTES = 64 * 1024
/** Logs are distinguished by at most this many bytes at their beginning. */
const MOST_HEAD_BYTES = 4096
const LINE_FEED = 10

/** The whole lines at the beginning of a log, at most 4 KiB; null while it has none. */
export async function headOf(log: OpenLog): Promise<{ firstLine: Buffer; whole: Buffer } | null> {
  let head: Buffer = Buffer.alloc(0)
  for await (const chunk of bytesOf(log, 0, MOST_HEAD_BYTES)) {
    head = Buffer.concat([head, chunk])
    if (head.length >= MOST_HEAD_BYTES) break
  }
  head = head.subarray(0, MOST_HEAD_BYTES)
  const first = head.indexOf(LINE_FEED)
  if (first < 0) return head.length === MOST_HEAD_BYTES ? { firstLine: head, whole: head } : null
  return { firstLine: head.subarray(0, first), whole: head.subarray(0, head.lastIndexOf(LINE_FEED) + 1) }
}

/** The pieces of a log from a position on. Text after the last line feed is a line that is still being written. */
export async function* piecesOf(log: OpenLog, from: number): AsyncGenerator<Piece> {
  /** where the chunk and the line begin, as positions in the log */
  let chunkAt = from
  let lineAt = from
  /** the beginning of the line, unless it is already too long */
  let begun: Buffer = Buffer.alloc(0)
  for await (const chunk of bytesOf(log, from, CHUNK_BYTES)) {
    const lines: string[] = []
    let tooLong = 0
    let at = 0
    for (let feed = chunk.indexOf(LINE_FEED); feed >= 0; feed = chunk.indexOf(LINE_FEED, at)) {
      if (chunkAt + feed - lineAt > MOST_LINE_BYTES) tooLong++
      else if (begun.length === 0) lines.push(chunk.toString('latin1', at, feed))
      else lines.push(begun.toString('latin1') + chunk.toString('latin1', at, feed))
      begun = Buffer.alloc(0)
      at = feed + 1
      lineAt = chunkAt + at
    }
    chunkAt += chunk.length
    begun = chunkAt - lineAt > MOST_LINE_BYTES ? Buffer.alloc(0) : Buffer.concat([begun, chunk.subarray(at)])
    yield { lines, tooLong, end: lineAt }
  }
}

/** The unpacked bytes from a position on. Stops without an error at the end of a file that is still being packed. */
async function* bytesOf({ file, packed }: OpenLog, from: number, chunkBytes: number): AsyncGenerator<Buffer> {
  if (!packed) {
    yield* storedBytes(file, from, chunkBytes)
    return
  }
  const unpacked = pipeline(
    Readable.from(storedBytes(file, 0, chunkBytes)),
    createGunzip({ chunkSize: CHUNK_BYTES }),
    () => {},
  )
  let left = from
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      if (chunk.length > left) yield left > 0 ? chunk.subarray(left) : chunk
      left = Math.max(0, left - chunk.length)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'Z_BUF_ERROR') throw error
  }
}

/** Reads without a stream, because a stream of the handle would close it. */
async function* storedBytes(file: FileHandle, from: number, chunkBytes: number): AsyncGenerator<Buffer> {
  for (let at = from; ;) {
    const buffer = Buffer.allocUnsafe(chunkBytes)
    const { bytesRead } = await file.read(buffer, 0, chunkBytes, at)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}
