// Digests of files at a bounded rate, so that other users of the disk or the event loop do not notice.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** SHA-256 of one piece takes 0.2 ms with and 1 ms without processor support: the event loop is free between pieces. */
const PIECE_BYTES = 256 * 1024

export interface Hashing {
  /** @returns the hex SHA-256 and the size @throws ENOENT, the signal's reason */
  digest(path: string, signal?: AbortSignal): Promise<{ sha256: string; sizeBytes: number }>
  /** The same for bytes that are not in a file here. */
  digestOf(stream: AsyncIterable<Buffer>, signal?: AbortSignal): Promise<{ sha256: string; sizeBytes: number }>
}

/** @param bytesPerSecond limit for all files together */
export function createHashing(bytesPerSecond: number): Hashing {
  /** when the next piece may be read, on the clock of `performance` */
  let nextAt = 0
  const digestOf: Hashing['digestOf'] = async (stream, signal) => {
    const hash = createHash('sha256')
    let sizeBytes = 0
    for await (const bytes of stream) {
      signal?.throwIfAborted()
      hash.update(bytes)
      sizeBytes += bytes.length
      const now = performance.now()
      nextAt = Math.max(nextAt, now) + (bytes.length / bytesPerSecond) * 1000
      if (nextAt - now > 5) await delay(nextAt - now, undefined, { signal })
    }
    return { sha256: hash.digest('hex'), sizeBytes }
  }
  return {
    digestOf,
    digest: (path, signal) => digestOf(createReadStream(path, { highWaterMark: PIECE_BYTES }), signal),
  }
}
