// Sends bodies at the client's pace and counts the bytes its connection accepted. Knows no headers or paths.
import type { FileHandle } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** How much of a body has been sent. */
export interface Progress {
  /** grows while the operating system accepts bytes of the body */
  bytes: number
  /** bytes passed to `end`: sent once the response is finished */
  lastBytes: number
}

/** Bodies up to this size are written together with the header. */
const ONE_WRITE_BYTES = 64 * 1024
/** Large enough that disk and socket limit the speed, and not the loop. */
const PIECE_BYTES = 256 * 1024

const SHORTER = 'the file became shorter while it was sent'

/**
 * Sends a part of a buffer that many clients may share. `end` is called only after the last piece was accepted, so that
 * closing finished connections never cuts off a body.
 */
export function sendBytes(response: ServerResponse, body: Buffer, progress: Progress): Promise<void> | void {
  if (body.byteLength > ONE_WRITE_BYTES) return sendPieces(response, body, progress)
  progress.lastBytes = body.byteLength
  response.end(body)
}

async function sendPieces(response: ServerResponse, body: Buffer, progress: Progress): Promise<void> {
  for (let at = 0; at < body.byteLength; at += PIECE_BYTES) {
    if (!(await write(response, body.subarray(at, at + PIECE_BYTES), progress))) return
  }
  response.end()
}

/** Sends bytes `first` to `last` of an open file. @throws Error when the file ends early, so that the client sees a broken transfer */
export async function sendFile(
  response: ServerResponse,
  file: FileHandle,
  first: number,
  last: number,
  progress: Progress,
): Promise<void> {
  // One buffer for the whole transfer: a piece is read only when the previous one was accepted.
  const buffer = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, last - first + 1))
  for (let at = first; at <= last;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.byteLength, last + 1 - at), at)
    if (bytesRead === 0) throw new Error(SHORTER)
    const piece = buffer.subarray(0, bytesRead)
    if (bytesRead === last - first + 1 && bytesRead <= ONE_WRITE_BYTES) return void sendBytes(response, piece, progress)
    if (!(await write(response, piece, progress))) return
    at += bytesRead
  }
  response.end()
}

/** Sends all of a stream, at the client's pace. @throws the error of the stream */
export async function sendStream(response: ServerResponse, stream: Readable, progress: Progress): Promise<void> {
  for await (const piece of stream) if (!(await write(response, piece as Buffer, progress))) return
  response.end()
}

/** The bytes of an open file that other transfers may read at the same time. */
export async function* piecesOf(file: FileHandle, sizeBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < sizeBytes;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafeSlow(ONE_WRITE_BYTES), 0, ONE_WRITE_BYTES, at)
    if (bytesRead === 0) throw new Error(SHORTER)
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

/** Sends the content of a gzip file. @throws Error when it is damaged */
export async function sendGunzipped(
  response: ServerResponse,
  compressed: Iterable<Buffer> | AsyncIterable<Buffer>,
  progress: Progress,
): Promise<void> {
  const client = { left: false }
  try {
    await pipeline(
      Readable.from(compressed),
      createGunzip({ chunkSize: ONE_WRITE_BYTES }),
      async (plain: AsyncIterable<Buffer>) => {
        for await (const piece of plain) {
          client.left = !(await write(response, piece, progress))
          // Leaving the loop destroys the source, so the pipeline fails with some error.
          if (client.left) return
        }
      },
    )
  } catch (error) {
    if (!client.left) throw error
  }
  response.end()
}

/** Resolves to true when the operating system accepted the piece; to false when the client disconnected. */
function write(response: ServerResponse, piece: Buffer, progress: Progress): Promise<boolean> {
  if (response.destroyed || response.closed) return Promise.resolve(false)
  return new Promise((resolve) => {
    const gone = () => resolve(false)
    response.once('close', gone)
    response.write(piece, (error) => {
      response.off('close', gone)
      if (!error) progress.bytes += piece.byteLength
      resolve(!error)
    })
  })
}
