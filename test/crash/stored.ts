// The stored files of an installation whose processes have ended: in its directory, or in its object store.
import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { poolUrl } from '../../src/config/pool-url.ts'
import { createObjectPool } from '../../src/store/files/object-pool.ts'
import { createPool, type FileId, type Area, type Pool } from '../../src/store/files/pool.ts'
import { parseKey, type ObjectStore } from '../../src/store/objects/object-store.ts'
import { openS3 } from '../../src/store/objects/s3.ts'
import { createPaths, type Paths } from '../../src/store/paths.ts'

export interface Stored {
  pool: Pool
  /** null while packages are on the disk */
  store: ObjectStore | null
  /** names of everything in a place; each contains the digest of its file */
  names(place: Area): Promise<string[]>
  /** SHA-256 of the bytes; null when the place does not have them */
  digest(place: Area, file: FileId): Promise<string | null>
  close(): void
}

/** @param env of the service: names the object store, if there is one */
export function openStored(paths: Paths, env: Record<string, string> = {}): Stored {
  const local = createPool(paths)
  const store = openStore(env)
  const pool = store
    ? createObjectPool({ store, local, newPath: () => join(paths.incoming, randomBytes(6).toString('hex')) })
    : local
  return {
    pool,
    store,
    async names(place) {
      const files = await filesBelow(paths[place])
      return place === 'pool' && store ? [...files, ...(await packagesIn(store))] : files
    },
    async digest(place, file) {
      const bytes = await pool.open(file, place)
      if (!bytes) return null
      const hash = createHash('sha256')
      for await (const piece of bytes.stream()) hash.update(piece as Buffer)
      await bytes.close()
      return hash.digest('hex')
    },
    close: () => store?.close(),
  }
}

/** The stored files of an installation. */
export const storedOf = ({ reposDir, env }: { reposDir: string; env?: Record<string, string> }): Stored =>
  openStored(createPaths(reposDir), env)

function openStore(env: Record<string, string>): ObjectStore | null {
  const { POOL_URL: url, AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = env
  return url === undefined ? null : openS3(poolUrl.parse(url), { accessKeyId, secretAccessKey })
}

async function packagesIn(store: ObjectStore): Promise<string[]> {
  const { objects, isLast } = await store.list('', '')
  if (!isLast) throw new Error('there are more objects than one page')
  return objects.map(({ key }) => key).filter((key) => parseKey(key) !== null)
}

export async function filesBelow(directory: string): Promise<string[]> {
  if (!existsSync(directory)) return []
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort()
}
