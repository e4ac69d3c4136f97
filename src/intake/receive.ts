// Streams an arrival to staging, counting and hashing on the way; what fails leaves nothing behind.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Problem } from '../domain/problem.ts'
import type { Digests } from '../domain/package.ts'
import { createFile, removeFile } from '../kernel/files.ts'
import type { Staged } from './arrival.ts'

/**
 * @param maxBytes the first byte beyond it ends the arrival with Problem('file_too_large')
 * @returns the staged file, flushed to disk
 */
export async function receive(source: AsyncIterable<Uint8Array>, path: string, maxBytes: number): Promise<Staged> {
  const digests = createDigests()
  let sizeBytes = 0
  const file = createFile(path, 0o600)
  try {
    for await (const chunk of source) {
      sizeBytes += chunk.byteLength
      if (sizeBytes > maxBytes) throw tooLarge(maxBytes)
      // The disk works while the digests are computed.
      const written = file.write(chunk)
      digests.update(chunk)
      await written
    }
    await file.flush()
  } catch (error) {
    file.close()
    removeFile(path)
    throw error
  }
  file.close()
  return { path, sizeBytes, digests: digests.hex() }
}

/** Size and digests of a file that we wrote ourselves. */
export async function measure(path: string): Promise<Staged> {
  const digests = createDigests()
  let sizeBytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    sizeBytes += (chunk as Buffer).byteLength
    digests.update(chunk as Buffer)
  }
  return { path, sizeBytes, digests: digests.hex() }
}

function createDigests(): { update(chunk: Uint8Array): void; hex(): Digests } {
  const hashes = {
    sha256: createHash('sha256'),
    sha512: createHash('sha512'),
    sha1: createHash('sha1'),
    md5: createHash('md5'),
  }
  return {
    update(chunk) {
      for (const hash of Object.values(hashes)) hash.update(chunk)
    },
    hex: () => ({
      sha256: hashes.sha256.digest('hex'),
      sha512: hashes.sha512.digest('hex'),
      sha1: hashes.sha1.digest('hex'),
      md5: hashes.md5.digest('hex'),
    }),
  }
}

export function tooLarge(limitBytes: number): Problem {
  return new Problem('file_too_large', `the file is larger than ${limitBytes} bytes`, { limit_bytes: limitBytes })
}
