// Opens PGlite, starting a new directory from a seed: initdb in wasm takes 5.3 s and 900 MB, the seed 2.5 s and 380 MB.
import { PGlite } from '@electric-sql/pglite'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Made by `npm run build`; absent in a fresh checkout, where initdb runs instead. */
export const SEED_PATH = join(import.meta.dirname, '..', '..', '..', 'dist', 'pglite-seed.tar')

/** @param directory null keeps everything in memory */
export async function openPglite(directory: string | null): Promise<PGlite> {
  const fresh = directory === null || !existsSync(join(directory, 'PG_VERSION'))
  const loadDataDir = fresh && existsSync(SEED_PATH) ? new Blob([await readFile(SEED_PATH)]) : undefined
  return PGlite.create({
    ...(directory === null ? {} : { dataDir: directory }),
    ...(loadDataDir ? { loadDataDir } : {}),
  })
}
