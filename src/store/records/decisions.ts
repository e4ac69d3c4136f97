// What people decided, as rows: added, read, closed; never changed otherwise. Knows no rule of review.
import { sql, type Insertable } from 'kysely'
import type { Db } from '../db.ts'
import type { DecisionRow, DecisionsTable, PackageRow } from '../tables.ts'

/** What the record itself says in a decision about it. */
type OfRecord = 'package_id' | 'package' | 'version' | 'arch' | 'distribution' | 'format' | 'sha256'

export type NewDecision = Omit<Insertable<DecisionsTable>, OfRecord | 'active' | 'id'>

export async function insertDecision(tx: Db, row: PackageRow, decision: NewDecision): Promise<DecisionRow> {
  return tx
    .insertInto('decisions')
    .values({
      ...decision,
      package_id: row.id,
      package: row.name,
      version: row.version,
      arch: row.arch,
      distribution: row.distribution,
      format: row.format,
      sha256: row.sha256,
      active: true,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The decisions in force on each of these records, newest first. */
export async function activeDecisions(db: Db, packageIds: readonly number[]): Promise<Map<number, DecisionRow[]>> {
  const found = new Map<number, DecisionRow[]>()
  if (packageIds.length === 0) return found
  const rows = await db
    .selectFrom('decisions')
    .selectAll()
    .where('package_id', 'in', packageIds)
    .where('active', '=', true)
    .orderBy('id', 'desc')
    .execute()
  for (const row of rows) found.set(row.package_id as number, [...(found.get(row.package_id as number) ?? []), row])
  return found
}

/** Ends decisions; what is closed already stays as it is. */
export async function closeDecisions(
  tx: Db,
  ids: readonly number[],
  closing: { at: Date; by: string; note: string },
): Promise<void> {
  if (ids.length === 0) return
  await tx
    .updateTable('decisions')
    .set((eb) => ({
      active: false,
      resolved_at: eb.fn.coalesce('resolved_at', eb.val(closing.at)),
      resolved_by: eb.fn.coalesce('resolved_by', eb.val(closing.by)),
      resolution_note: eb.fn.coalesce('resolution_note', eb.val(closing.note)),
    }))
    .where('id', 'in', ids)
    .where('active', '=', true)
    .execute()
}

/** Undoes `closeDecisions` of that note, where what closed them did not come to pass. */
export async function reopenDecisions(tx: Db, ids: readonly number[], note: string): Promise<void> {
  if (ids.length === 0) return
  const kept = <T>(column: string) => sql<T>`case when resolution_note = ${note} then null else ${sql.ref(column)} end`
  await tx
    .updateTable('decisions')
    .set({
      active: true,
      resolved_at: kept('resolved_at'),
      resolved_by: kept('resolved_by'),
      resolution_note: kept('resolution_note'),
    })
    .where('id', 'in', ids)
    .execute()
}

/** Ends every decision in force on a record, by the database's clock: nobody decided this. */
export async function closeDecisionsOf(tx: Db, packageId: number, note: string): Promise<void> {
  await tx
    .updateTable('decisions')
    .set({
      active: false,
      resolved_at: sql`coalesce(resolved_at, now())`,
      resolution_note: sql`coalesce(resolution_note, ${note})`,
    })
    .where('package_id', '=', packageId)
    .where('active', '=', true)
    .execute()
}

/** Every decision ever made on a record, oldest first, as its manifest keeps them. */
export async function decisionsOf(db: Db, packageIds: readonly number[]): Promise<DecisionRow[]> {
  return db.selectFrom('decisions').selectAll().where('package_id', 'in', packageIds).orderBy('id').execute()
}

/** Brings one back from a manifest, closed or not. */
export async function restoreDecision(tx: Db, row: PackageRow, decision: DecisionRow): Promise<void> {
  const { id: _id, package_id: _then, covers, policy_snapshot, ...kept } = decision
  await tx
    .insertInto('decisions')
    .values({
      ...kept,
      package_id: row.id,
      covers: JSON.stringify(covers),
      policy_snapshot: JSON.stringify(policy_snapshot),
    })
    .execute()
}
