// The places that records can be in besides the declared distributions.
import type { Distribution } from '../../domain/package.ts'
import { placeOfRepository, readRepositoryKey, type RepositoryKey } from '../../domain/repositories.ts'
import type { Db } from '../../store/db.ts'

/** The repositories that packages are published to. */
export async function hostedPlaces(db: Db): Promise<Distribution[]> {
  const rows = await db
    .selectFrom('repositories')
    .select(['format', 'name'])
    .where('kind', '<>', 'group')
    .orderBy('key')
    .execute()
  return rows.map(placeOfRepository)
}

/** Makes the row that the records of a repository refer to. It stays uninitialized, so no index of it is published. */
export async function addPlace(tx: Db, key: RepositoryKey, isPrivate: boolean): Promise<void> {
  const { codename, format } = placeOfRepository(key)
  await tx
    .insertInto('distributions')
    .values({ codename, format, definition: JSON.stringify(placeOfRepository(key)), private: isPrivate })
    .onConflict((c) => c.doNothing())
    .execute()
}

/**
 * Makes a repository again that a lost database had, from what its manifests say: hosted, and private until an administrator
 * looks at it.
 */
export async function restoreRepository(db: Db, place: string, now: Date): Promise<void> {
  const key = readRepositoryKey(place)
  if (!key) return
  await addPlace(db, key, true)
  await db
    .insertInto('repositories')
    .values({ key: place, ...key, kind: 'hosted', description: '', created_at: now, created_by: 'restore' })
    .onConflict((c) => c.doNothing())
    .execute()
}
