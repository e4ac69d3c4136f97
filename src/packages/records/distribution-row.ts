// The distribution's row, which every transaction on its records locks: revision, counters, size.
import type { PackageStatus } from '../../domain/status.ts'
import { Problem } from '../../domain/problem.ts'
import type { Db } from '../../store/db.ts'

const COUNTERS: Record<PackageStatus, 'published_count' | 'pending_count' | 'quarantined_count' | 'rejected_count'> = {
  published: 'published_count',
  pending_review: 'pending_count',
  quarantined: 'quarantined_count',
  rejected: 'rejected_count',
}

/**
 * Raises the distribution's revision and its counters. Its row lock is held until the transaction ends, so revisions
 * are committed in order.
 * @param change `offers`: how many packages enter or leave the index, each with a separate revision
 * @returns the last of these revisions
 */
export async function lockAndAdvance(
  tx: Db,
  codename: string,
  change: { offers: number; counts: Partial<Record<PackageStatus, number>>; bytes?: number },
): Promise<number> {
  let update = tx.updateTable('distributions').set((eb) => ({
    revision: eb('revision', '+', change.offers),
    size_bytes: eb('size_bytes', '+', change.bytes ?? 0),
  }))
  for (const [status, by] of Object.entries(change.counts) as [PackageStatus, number][]) {
    if (by !== 0) update = update.set((eb) => ({ [COUNTERS[status]]: eb(COUNTERS[status], '+', by) }))
  }
  const row = await update.where('codename', '=', codename).returning('revision').executeTakeFirst()
  if (!row) throw new Problem('unknown_distribution', `the distribution ${codename} is not initialized`)
  return row.revision
}
