// A decision by its number, read or about to be changed.
import { Problem } from '../domain/problem.ts'
import { lockIfThere } from '../packages/records/change-record.ts'
import type { Db } from '../store/db.ts'
import type { DecisionRow, PackageRow } from '../store/tables.ts'

/** Receives a decision before a change, and throws to refuse it. */
export type Check = (before: DecisionRow) => void

/** @throws Problem('not_found') */
export async function findDecision(db: Db, id: number): Promise<DecisionRow> {
  const row = await db.selectFrom('decisions').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw new Problem('not_found', `there is no decision ${id}`)
  return row
}

/**
 * Locks a decision until the transaction ends. Its record, or null when that is gone, is locked first, as by everybody who changes both.
 * @throws Problem('not_found')
 */
export async function lockDecision(tx: Db, id: number): Promise<{ decision: DecisionRow; record: PackageRow | null }> {
  const { package_id: packageId } = await findDecision(tx, id)
  const record = packageId === null ? null : await lockIfThere(tx, packageId)
  const decision = await tx
    .selectFrom('decisions')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return { decision, record }
}
