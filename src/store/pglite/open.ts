// Opens the embedded database: its directory is locked, its thread started.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { lockDirectory } from './lock.ts'
import type { ThreadData } from './messages.ts'
import { createSession, type Session } from './session.ts'

/** Made by `npm run build`: initdb in WebAssembly takes 5.3 s and 900 MB, the seed 2.5 s. Without it, initdb runs. */
const SEED_PATH = join(import.meta.dirname, '..', '..', '..', 'dist', 'pglite-seed.tar')

/** A result that needs more heap than this ends the thread instead of the process. */
const HEAP_MB = 192

/**
 * @param directory null keeps everything in memory
 * @throws when a living process holds the directory
 */
export async function openEmbedded(directory: string | null): Promise<Session> {
  const unlock = directory === null ? async () => {} : await lockDirectory(directory)
  try {
    const session = await createSession({ start: () => startThread(directory), durable: directory !== null })
    return {
      acquire: () => session.acquire(),
      async close() {
        await session.close()
        await unlock()
      },
    }
  } catch (error) {
    await unlock()
    throw error
  }
}

export function startThread(directory: string | null): Worker {
  const isNew = directory === null || !existsSync(join(directory, 'PG_VERSION'))
  const workerData: ThreadData = { directory, seed: isNew && existsSync(SEED_PATH) ? SEED_PATH : null }
  return new Worker(new URL('./thread.js', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  })
}
