// Removes files of a distribution's tree that no row names, left by a crash.
import { lstat, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GRACE_MS } from '../../domain/grace.ts'
import type { Offered } from '../../formats/format.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ifMissing } from '../../kernel/files.ts'
import { namesIn } from '../../kernel/files-below.ts'
import type { Db } from '../../store/db.ts'
import type { Paths } from '../../store/paths.ts'
import { claimIfFree, endCleaning, type Claim } from './cleaning-claim.ts'
import { removeUnlinked } from './shared-files.ts'
import { linkedGeneration, treeOf } from './tree.ts'
import { unlinkAgain } from './unlink-again.ts'

const GENERATION = /^r\d+-/
const TEMPORARY_LINK = /^\..+\.[0-9a-f]{12}$/
const TEMPORARY_FILE = /\.[0-9a-f]{12}\.tmp$/
const WORK_DIRECTORY = /^\.work-/

export interface SweepDeps {
  db: Db
  clock: Clock
  paths: Paths
}

/** Also notes package files that `Cleaner.clean` has to look for again. Reads all directories of the tree. */
export async function sweep({ db, clock, paths }: SweepDeps, { format, distribution }: Offered): Promise<void> {
  const { codename } = distribution
  const isOld = (time: Date) => clock.now().getTime() - time.getTime() > GRACE_MS
  const tree = treeOf(paths, format, distribution)
  await unlinkAgain(db, codename, 'recently ended')
  const claim = await claimIfFree(db, codename)
  // Another process is cleaning: the next sweep runs in an hour.
  if (typeof claim === 'string') return
  const remove = (directory: string, matches: (name: string) => boolean) => removeOld(directory, matches, isOld, claim)
  try {
    const row = await db
      .selectFrom('distributions')
      .select(['generation', 'background_indexes'])
      .where('codename', '=', codename)
      .executeTakeFirstOrThrow()
    const superseded = await db
      .selectFrom('superseded_generations')
      .select('generation')
      .where('distribution', '=', codename)
      .execute()
    const kept = new Set([
      row.generation,
      await linkedGeneration(tree.link),
      ...superseded.map((one) => one.generation),
    ])
    await remove(tree.base, (name) => GENERATION.test(name) && !kept.has(name))
    await removeUnlinked(join(tree.byHash, 'SHA256'), claim, ({ ctime }) => isOld(ctime))
    const background = new Set(row.background_indexes.map((index) => index.sha256))
    await removeUnlinked(tree.background, claim, ({ ctime }, name) => !background.has(name) && isOld(ctime))
    await remove(dirname(tree.link), (name) => TEMPORARY_LINK.test(name))
    await remove(tree.base, (name) => TEMPORARY_FILE.test(name))
    for (const { path } of tree.standing) {
      await remove(dirname(path), (name) => TEMPORARY_FILE.test(name) || TEMPORARY_LINK.test(name))
    }
    await remove(tree.background, (name) => WORK_DIRECTORY.test(name))
  } finally {
    await endCleaning(db, codename, claim)
  }
}

/** Removes entries that were last changed before the grace time. */
async function removeOld(
  directory: string,
  matches: (name: string) => boolean,
  isOld: (time: Date) => boolean,
  claim: Claim,
): Promise<void> {
  for (const name of await namesIn(directory)) {
    if (!matches(name)) continue
    const info = await lstat(join(directory, name)).catch(ifMissing(null))
    if (!info || !isOld(info.mtime)) continue
    claim.check()
    await rm(join(directory, name), { recursive: true, force: true })
  }
}
