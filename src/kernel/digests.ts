// The four digests that package indexes list, computed in one pass.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Digests } from '../domain/package.ts'

export interface DigestStream {
  update(chunk: Uint8Array): void
  /** Ends the computation; call it once. */
  hex(): Digests
}

export function createDigests(): DigestStream {
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

/** Reads a file once, for its size and its digests. */
export async function measure(path: string): Promise<{ path: string; sizeBytes: number; digests: Digests }> {
  const digests = createDigests()
  let sizeBytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    sizeBytes += (chunk as Buffer).byteLength
    digests.update(chunk as Buffer)
  }
  return { path, sizeBytes, digests: digests.hex() }
}

/** The hex SHA-256 of a file. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
