// A file on the disk, for hashing and sending.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { FileSource } from 'gatehouse-client'

export interface LocalFile {
  path: string
  size: number
  sha256: string
}

const CHUNK = { highWaterMark: 256 * 1024 }

/** Reads the whole file once. @throws the error of the file system */
export async function hashed(path: string, signal: AbortSignal): Promise<LocalFile> {
  const info = await stat(path)
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { ...CHUNK, signal })) hash.update(chunk as Buffer)
  return { path, size: info.size, sha256: hash.digest('hex') }
}

/** @param sent receives the number of bytes that the connection accepted; begins again with each try */
export function sourceOf({ path, size }: LocalFile, sent: (bytes: number) => void): FileSource {
  return {
    name: basename(path),
    size,
    async *stream() {
      let total = 0
      sent(0)
      for await (const chunk of createReadStream(path, CHUNK)) {
        const bytes = chunk as Buffer
        yield bytes
        total += bytes.byteLength
        sent(total)
      }
    },
  }
}
