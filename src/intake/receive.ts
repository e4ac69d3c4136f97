// Receives a source into staging: counts and hashes its bytes on the way, and leaves nothing behind on failure.
import { Problem } from '../domain/problem.ts'
import type { Placed } from '../formats/intake-format.ts'
import type { Staged } from '../gate/step.ts'
import { createDigests } from '../kernel/digests.ts'
import { createFile, fsyncPath, removeFile } from '../kernel/files.ts'
import { renameName } from '../kernel/names.ts'
import type { Arrival, Source } from '../packages/arrival.ts'
import { openPlace, type FormatRegistry } from '../packages/identify.ts'

export interface Reception {
  /** the distribution that the source has named; null before it did */
  codename(): string | null
  /** @throws Problem as `Delivery` and the source do */
  receive(source: Source): Promise<Arrival>
}

/** @param path of the new file, which may exist after a failure */
export function createReception(registry: FormatRegistry, path: string, maxBytes: number): Reception {
  let codename: string | null = null
  let offered: Placed | null = null
  let staged: Staged | null = null
  return {
    codename: () => codename,
    async receive(source) {
      const delivered = await source.deliver({
        mostBytes: maxBytes,
        target(name) {
          codename = name
          offered = openPlace(registry, name)
        },
        async store(bytes) {
          staged = await stage(bytes, path, maxBytes)
        },
        async adopt(from) {
          staged = await adopt(from, path, maxBytes)
        },
      })
      if (!staged || !offered) throw new Error('the source delivered no file or named no distribution')
      return { ...delivered, ...staged, offered }
    },
  }
}

/**
 * @param maxBytes the first byte beyond it ends the transfer with Problem('file_too_large')
 * @returns the staged file, flushed to disk
 */
export async function stage(source: AsyncIterable<Uint8Array>, path: string, maxBytes: number): Promise<Staged> {
  const digests = createDigests()
  let sizeBytes = 0
  const file = await createFile(path, 0o600)
  try {
    for await (const chunk of source) {
      sizeBytes += chunk.byteLength
      if (sizeBytes > maxBytes) throw tooLarge(maxBytes)
      // Writes to disk while the digests are computed.
      const written = file.write(chunk)
      digests.update(chunk)
      await written
    }
    await file.flush()
  } catch (error) {
    await file.close()
    await removeFile(path)
    throw error
  }
  await file.close()
  return { path, sizeBytes, digests: digests.hex() }
}

/** Takes over a file on the same file system. @returns the staged file, flushed to disk */
async function adopt({ path: from, sizeBytes, digests }: Staged, path: string, maxBytes: number): Promise<Staged> {
  if (sizeBytes > maxBytes) throw tooLarge(maxBytes)
  await renameName(from, path)
  await fsyncPath(path)
  return { path, sizeBytes, digests }
}

export function tooLarge(limitBytes: number): Problem {
  return new Problem('file_too_large', `the file is larger than ${limitBytes} bytes`, { limit_bytes: limitBytes })
}
