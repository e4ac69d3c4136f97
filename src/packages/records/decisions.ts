// Decisions as rows: added, read and closed, never changed otherwise. The rules of review are in `review/`.
import { sql, type Insertable } from 'kysely'
import type { Db } from '../../store/db.ts'
import type { DecisionRow, DecisionsTable, PackageRow, StateBefore } from '../../store/tables.ts'

/** Columns that are copied from the record. */
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

/** Active decisions of each of these records, newest first. */
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

/** Closes decisions; closed ones stay unchanged. */
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

/** Undoes a `closeDecisions` with this note, when the change that closed them failed. */
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

/** Closes all active decisions of records, with the database's time and without a person. */
export async function closeDecisionsOf(tx: Db, packageIds: readonly number[], note: string): Promise<void> {
  await tx
    .updateTable('decisions')
    .set({
      active: false,
      resolved_at: sql`coalesce(resolved_at, now())`,
      resolution_note: sql`coalesce(resolution_note, ${note})`,
    })
    .where('package_id', 'in', packageIds)
    .where('active', '=', true)
    .execute()
}

/** Notes what a decision is about to change, and forgets notes that are too old to undo anything. */
export async function noteBefore(
  tx: Db,
  decisionId: number,
  until: Date,
  now: Date,
  before: StateBefore,
): Promise<void> {
  await tx.deleteFrom('undo_notes').where('until', '<', now).execute()
  await tx
    .insertInto('undo_notes')
    .values({ decision_id: decisionId, until, before: JSON.stringify(before) })
    .execute()
}

export async function notedBefore(tx: Db, decisionId: number): Promise<StateBefore | null> {
  const row = await tx
    .selectFrom('undo_notes')
    .select('before')
    .where('decision_id', '=', decisionId)
    .executeTakeFirst()
  return row?.before ?? null
}

/** All decisions of these records, oldest first, as manifests keep them. */
export async function decisionsOf(db: Db, packageIds: readonly number[]): Promise<DecisionRow[]> {
  return db.selectFrom('decisions').selectAll().where('package_id', 'in', packageIds).orderBy('id').execute()
}

/** Restores a decision from a manifest, active or closed. */
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
