// The database of trivy: what trivy wrote beside it, which distributions it knows, and its replacement by a newer one.
import { readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HOUR_MS } from '../../../domain/durations.ts'
import type { Json } from '../../../domain/json.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { ensureDirectory, isMissing } from '../../../kernel/files.ts'
import { dateAt, parseReport } from '../external/scanner.ts'
import { readBuckets } from './buckets.ts'

export interface TrivyDatabase {
  /** trivy's cache directory with the database in force */
  cache: string
  /** Written by trivy beside its database; empty when there is none. */
  metadata(): Promise<Json>
  /** The names of its buckets, one for each release. @throws UnreadableOutput */
  buckets(): Promise<Set<string>>
  /** Whether trivy itself would load no newer one now. */
  isFresh(): Promise<boolean>
  /**
   * Replaces the database in force.
   * @param load lets trivy load a database into this cache directory
   * @throws UnreadableOutput when what was loaded cannot be read
   */
  replace(load: (cacheDirectory: string) => Promise<void>): Promise<void>
}

export function createTrivyDatabase(directory: string, clock: Clock): TrivyDatabase {
  const cache = join(directory, 'trivy')
  const loading = join(directory, 'trivy-loading')
  let known: { file: string; names: Promise<Set<string>> } | null = null

  async function metadata(): Promise<Json> {
    try {
      return parseReport('trivy', await readFile(join(cache, 'db', 'metadata.json'), 'utf8'))
    } catch {
      return {}
    }
  }

  /** Reads them again only when the database file has changed. */
  async function buckets(): Promise<Set<string>> {
    const path = join(cache, 'db', 'trivy.db')
    const file = await stat(path).then(
      ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
      () => '',
    )
    if (known?.file !== file) known = { file, names: readBuckets(path) }
    try {
      return await known.names
    } catch (error) {
      known = null
      throw error
    }
  }

  /** Applies trivy's own rule. trivy could apply it only if it loaded into the directory of the database in force. */
  async function isFresh(): Promise<boolean> {
    const about = await metadata()
    const now = clock.now().getTime()
    const due = Date.parse(dateAt(about, 'NextUpdate') ?? '') || 0
    const loaded = Date.parse(dateAt(about, 'DownloadedAt') ?? '') || 0
    if (now >= due && now >= loaded + HOUR_MS) return false
    return buckets().then(
      () => true,
      () => false,
    )
  }

  /** Replaces the database in force by renaming; trivy itself would overwrite it while scans read it. */
  async function putInForce(): Promise<void> {
    await readBuckets(join(loading, 'db', 'trivy.db'))
    const old = join(loading, 'old')
    await ensureDirectory(cache, 0o700)
    await rename(join(cache, 'db'), old).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
    try {
      await rename(join(loading, 'db'), join(cache, 'db'))
    } catch (error) {
      await rename(old, join(cache, 'db')).catch(() => {})
      throw error
    }
  }

  return {
    cache,
    metadata,
    buckets,
    isFresh,
    async replace(load) {
      try {
        await rm(loading, { recursive: true, force: true })
        await load(loading)
        await putInForce()
      } finally {
        await rm(loading, { recursive: true, force: true })
      }
    },
  }
}
