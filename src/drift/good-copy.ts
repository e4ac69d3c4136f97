// Looks for good bytes of a stored file, wherever the service may have them.
import { join } from 'node:path'
import { isMissing } from '../kernel/files.ts'
import { treeOf } from '../publish/tree/generation.ts'
import type { Need } from './needs.ts'
import type { PublishedDeps } from './package-files.ts'
import { sizeOf } from './reading.ts'
import { arrivalsOf, type StoredBytesDeps } from './stored-bytes.ts'

/** @returns the path of a file with the right digest: in the pool, in quarantine, in a tree or among the uploads; null when there is none */
export async function goodCopyOf(
  { db, paths, pool, hashing, all }: StoredBytesDeps & PublishedDeps,
  need: Need,
): Promise<string | null> {
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
  const candidates = [pool.path(need), pool.quarantinePath(need), ...linked, ...(await arrivalsOf(paths, need.sha256))]
  for (const path of candidates) if (await isGood(path)) return path
  return null

  async function isGood(path: string): Promise<boolean> {
    try {
      return sizeOf(path) === need.size_bytes && (await hashing.digest(path)).sha256 === need.sha256
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }
}
