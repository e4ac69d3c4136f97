// Opens the embedded database: locks and fills its directory, and starts its thread.
import { closeSync, createReadStream, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { readTar } from '../../formats/archive/tar.ts'
import { fsyncPath } from '../../kernel/files.ts'
import { lockDirectory } from './lock.ts'
import type { ThreadData } from './messages.ts'
import { createSession, type Session } from './session.ts'

/** Made by `npm run build`: unpacking it takes a second, initdb in WebAssembly 5.3 s and 900 MB. Without it, initdb runs. */
const SEED_PATH = join(import.meta.dirname, '..', '..', '..', 'dist', 'pglite-seed.tar')

/**
 * Not a hard limit: a thread that reaches it may end the process. The sizes of statements and results keep the thread far below
 * it: long values are at most 1 MiB (store/records/entry-pieces), waiting packages share a bound (intake/facts-room), results
 * come in pages. Five packages with the longest file lists at the same time took 41 MB.
 */
const HEAP_MB = 192

/** The directory that `pglite://<directory>` names; null for `pglite://memory`. */
export function directoryOf(url: string): string | null {
  const place = decodeURIComponent(url.slice('pglite://'.length))
  return place === 'memory' ? null : place
}

/**
 * @param directory null keeps everything in memory
 * @param limitMs a statement that takes longer is stopped
 * @throws when a living process holds the directory
 */
export async function openEmbedded(directory: string | null, limitMs: number): Promise<Session> {
  const unlock = directory === null ? async () => {} : await lockDirectory(directory)
  try {
    if (directory !== null) await unpackSeed(directory)
    const session = await createSession({ start: () => startThread(directory), durable: directory !== null, limitMs })
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

/** PGlite recognizes a database by this file. */
const VERSION_FILE = 'PG_VERSION'

/**
 * Unpacks the seed into a new directory. PGlite could do it too, but its thread would keep the archive (40 MB) in memory
 * until the process ends. The version file is written last, so a start after an interrupted one unpacks again.
 *
 * All thousand files are written before any is flushed: 0.4 to 0.8 s; a flush after each takes 3.5 to 4.4 s on the same disk.
 */
export async function unpackSeed(directory: string): Promise<void> {
  if (existsSync(join(directory, VERSION_FILE)) || !existsSync(SEED_PATH)) return
  let version: Uint8Array = new Uint8Array()
  const written = [directory]
  for await (const { name, type, content } of readTar(createReadStream(SEED_PATH))) {
    const path = join(directory, name)
    if (name.replace(/^\//, '') === VERSION_FILE) {
      version = await buffer(content)
      continue
    }
    if (type === 'directory') mkdirSync(path, { recursive: true, mode: 0o700 })
    else await writePieces(path, content)
    written.push(path)
  }
  await flushAll(written)
  await writeFile(join(directory, VERSION_FILE), version, { mode: 0o600, flush: true })
  await fsyncPath(directory)
}

async function writePieces(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const file = openSync(path, 'w', 0o600)
  try {
    for await (const piece of pieces) writeFileSync(file, piece)
  } finally {
    closeSync(file)
  }
}

/** Runs as many flushes at the same time as the thread pool has threads. */
async function flushAll(paths: readonly string[]): Promise<void> {
  const left = paths.values()
  const flush = async () => {
    for (const path of left) await fsyncPath(path)
  }
  await Promise.all([flush(), flush(), flush(), flush()])
}

export function startThread(directory: string | null): Worker {
  const seed = directory === null && existsSync(SEED_PATH) ? SEED_PATH : null
  const workerData: ThreadData = { directory, seed }
  const name = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js'
  return new Worker(new URL(name, import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  })
}
