// Package files that a publish linked after they had been removed from the tree.
//
// A publish links what was offered at the revision that it has read. Another replica may quarantine one of these packages,
// publish, and remove the file before the link is made. The late publish does not go live, but its link stays in the tree, where
// a client that knows the path could fetch it. So the end of such a publish notes the files once more for the cleaner.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'

/** A publish that a killed process began ended within this time; the hourly sweep looks back that far. */
const RECENT = sql`interval '2 hours'`

/**
 * Notes files that were removed from the tree to be removed again, unless a current offer has the same path.
 * @param ended the offers that ended after this revision; or recently, for publishes of processes that died
 * @returns whether there are any
 */
export function unlinkAgain(db: Db, codename: string, ended: number | 'recently ended'): Promise<boolean> {
  const after = ended === 'recently ended' ? sql`ended_at > now() - ${RECENT}` : sql`until_revision > ${ended}::bigint`
  return transaction(db, async (tx) => {
    const { numAffectedRows } = await sql`update offers set unlink_at = now()
      where distribution = ${codename} and until_revision is not null and unlink_at is null and ${after}`.execute(tx)
    return (numAffectedRows ?? 0n) > 0n
  })
}
