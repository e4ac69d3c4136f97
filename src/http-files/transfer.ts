// Handing bodies to a client at the client's pace, counting what its connection took. Knows nothing of headers and paths.
import type { FileHandle } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** How much of a body has left. */
export interface Progress {
  /** grows as the operating system takes over bytes of the body */
  bytes: number
  /** what was given to `end`: has left once the response is finished */
  lastBytes: number
}

/** Bodies up to this go out in one write together with the header. */
const ONE_WRITE_BYTES = 64 * 1024
/** Large enough that the disk and the socket, not the loop, set the pace. */
const PIECE_BYTES = 256 * 1024

const SHORTER = 'the file became shorter while it was sent'

/**
 * Sends a part of a buffer that may be shared by many clients. `end` is called only when the last piece was taken over:
 * a body is then never cut off by whoever closes finished connections.
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

/** Sends bytes `first` to `last` of an open file. Throws when the file ends early: the client must see a broken transfer. */
export async function sendFile(
  response: ServerResponse,
  file: FileHandle,
  first: number,
  last: number,
  progress: Progress,
): Promise<void> {
  // One buffer for the whole transfer: a piece is read only when the one before was taken over.
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

/** The bytes of an open file others may be reading too. */
export async function* piecesOf(file: FileHandle, sizeBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < sizeBytes;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafeSlow(ONE_WRITE_BYTES), 0, ONE_WRITE_BYTES, at)
    if (bytesRead === 0) throw new Error(SHORTER)
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

/** Sends what a gzip file holds. Throws when it is damaged. */
export async function sendGunzipped(
  response: ServerResponse,
  compressed: Iterable<Buffer> | AsyncIterable<Buffer>,
  progress: Progress,
): Promise<void> {
  let clientLeft = false
  try {
    await pipeline(
      Readable.from(compressed),
      createGunzip({ chunkSize: ONE_WRITE_BYTES }),
      async (plain: AsyncIterable<Buffer>) => {
        for await (const piece of plain) {
          clientLeft = !(await write(response, piece, progress))
          // Leaving the loop makes the pipeline give up the source, and fail with an error of its own choice.
          if (clientLeft) return
        }
      },
    )
  } catch (error) {
    if (!clientLeft) throw error
  }
  response.end()
}

/** Resolves when the operating system took the piece over; with false when the client is gone. */
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
