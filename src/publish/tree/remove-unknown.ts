// Removes files that no offer names from a distribution's package directory, under the claim that publishes respect.
import { rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Offered } from '../../formats/format.ts'
import type { Db } from '../../store/db.ts'
import type { Paths } from '../../store/paths.ts'
import { claimIfFree, cleaningEnded, endCleaning, type Claim } from './cleaning-claim.ts'
import { treeOf } from './tree.ts'

/**
 * @param path below the package directory
 * @param isNamed whether an offer names it now; called once the claim is held
 * @returns false when an offer names it
 */
export async function removeUnknown(
  { db, paths }: { db: Db; paths: Paths },
  { format, distribution }: Offered,
  path: string,
  isNamed: () => Promise<boolean>,
): Promise<boolean> {
  const { codename } = distribution
  const claim = await claimWhenFree(db, codename)
  try {
    if (await isNamed()) return false
    claim.check()
    const { packages } = treeOf(paths, format, distribution)
    await rm(join(packages, path), { force: true })
    const parent = dirname(join(packages, path))
    // The directory may contain other packages.
    if (parent !== packages) await rmdir(parent).catch(() => {})
    return true
  } finally {
    await endCleaning(db, codename, claim)
  }
}

async function claimWhenFree(db: Db, codename: string): Promise<Claim> {
  for (;;) {
    const claim = await claimIfFree(db, codename)
    if (claim === 'missing') throw new Error(`the distribution ${codename} has no row`)
    if (claim !== 'busy') return claim
    await cleaningEnded(db, codename)
  }
}
