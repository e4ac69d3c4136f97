// Streams an arrival to staging, counting and hashing on the way; what fails leaves nothing behind.
import { Problem } from '../domain/problem.ts'
import { createFile, removeFile } from '../kernel/files.ts'
import { createDigests } from '../kernel/digests.ts'
import type { Staged } from '../gate/step.ts'

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

export function tooLarge(limitBytes: number): Problem {
  return new Problem('file_too_large', `the file is larger than ${limitBytes} bytes`, { limit_bytes: limitBytes })
}
