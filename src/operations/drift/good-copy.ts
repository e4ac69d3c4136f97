// Looks for an intact copy of a stored file in every place where the service may have one.
import { join, relative } from 'node:path'
import { isMissing } from '../../kernel/files.ts'
import { treeOf } from '../../publish/tree/tree.ts'
import type { Pool } from '../../store/files/pool.ts'
import type { Need } from './needs.ts'
import type { PublishedDeps } from './package-files.ts'
import { placesOf } from './places.ts'
import { sizeOf } from './reading.ts'
import { arrivalsOf, type StoredBytesDeps } from './stored-bytes.ts'

export interface GoodCopy {
  /** name for people: a path below `REPOS_DIR`, or an object */
  name: string
  /** Runs work that reads the bytes from a file. */
  use(work: (path: string) => Promise<void>): Promise<void>
}

/** @returns bytes with the right digest from the pool, quarantine, a tree or the uploads; null when there are none */
export async function goodCopyOf(
  deps: StoredBytesDeps & PublishedDeps & { pool: Pick<Pool, 'withFile'> },
  need: Need,
): Promise<GoodCopy | null> {
  const { db, paths, pool, local, store, hashing, all } = deps
  const offers = await db
    .selectFrom('offers')
    .select(['distribution', 'filename', 'sha256', 'arch'])
    .distinct()
    .where('sha256', '=', need.sha256)
    .execute()
  const linked = offers.flatMap((offer) => {
    const found = all.find(({ distribution }) => distribution.codename === offer.distribution)
    if (!found) return []
    const { packages } = treeOf(paths, found.format, found.distribution)
    return found.format.packagePaths(offer, found.distribution).map((path) => join(packages, path))
  })
  const candidates = [
    ...[local.path(need), local.quarantinePath(need)],
    ...linked,
    ...(await arrivalsOf(paths, need.sha256)),
  ]
  for (const path of candidates)
    if (await isGood(path)) return { name: relative(paths.root, path), use: (work) => work(path) }
  const object = placesOf(deps).pool
  const name = object.subjectOf(need)
  if (!store || (await object.digest(name)) !== need.sha256) return null
  return {
    name,
    async use(work) {
      if ((await pool.withFile(need, async (path) => (await work(path), true))) === null)
        throw new Error(`${name} is missing now`)
    },
  }

  async function isGood(path: string): Promise<boolean> {
    try {
      return (await sizeOf(path)) === need.size_bytes && (await hashing.digest(path)).sha256 === need.sha256
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }
}
