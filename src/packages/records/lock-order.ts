// The order in which every transaction on records locks rows: distributions by codename, then names. Whoever has the lock of
// a distribution may change all its records; the row of a name (`artifacts`) is shared by records of several distributions.
// Text is compared by code (collation C), as JavaScript does: other collations skip the hyphens of names.
import { sql } from 'kysely'
import type { Db } from '../../store/db.ts'

/** Locks the rows of distributions until the transaction ends. */
export async function lockDistributions(tx: Db, codenames: readonly string[]): Promise<void> {
  await tx
    .selectFrom('distributions')
    .select('codename')
    .where('codename', 'in', codenames)
    .orderBy(sql`codename collate "C"`)
    .forUpdate()
    .execute()
}

/** Locks the distributions of these records. */
export async function lockDistributionsOf(tx: Db, ids: readonly number[]): Promise<void> {
  const places = await tx.selectFrom('packages').select('distribution').distinct().where('id', 'in', ids).execute()
  if (places.length > 0)
    await lockDistributions(
      tx,
      places.map(({ distribution }) => distribution),
    )
}

/**
 * Locks everything that a transaction on several records changes: their distributions, then the rows of their names.
 * If it locked record by record, it would hold a name while it waits for the next distribution.
 */
export async function lockRecords(tx: Db, ids: readonly number[]): Promise<void> {
  await lockDistributionsOf(tx, ids)
  await sql`select name from artifacts
    where (name, format) in (select name, format from packages where id = any(${ids}::bigint[]))
    order by name collate "C", format for update`.execute(tx)
}

/** The order in which records are changed: by distribution. */
export function inLockOrder<T extends { distribution: string; id: number }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) =>
    a.distribution < b.distribution ? -1 : a.distribution > b.distribution ? 1 : a.id - b.id,
  )
}

/** The order in which rows of several names are locked. */
export function inNameOrder<T extends { format: string; name: string }>(rows: readonly T[]): T[] {
  const key = ({ format, name }: T) => `${name} ${format}`
  return [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}
