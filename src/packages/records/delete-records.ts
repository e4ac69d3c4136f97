// The transaction that deletes records.
import type { AuditEvent } from '../../domain/audit.ts'
import { GRACE_MS } from '../../domain/grace.ts'
import { Problem } from '../../domain/problem.ts'
import type { PackageStatus } from '../../domain/status.ts'
import type { Placed } from '../../formats/intake-format.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import { closeDecisionsOf } from './decisions.ts'
import { tally } from './counters.ts'
import type { PackageRow } from '../../store/tables.ts'
import { refreshArtifact } from './artifacts.ts'
import { lockAndAdvance } from './distribution-row.ts'
import { inNameOrder, lockRecords } from './lock-order.ts'
import { endOffers, type EndedOffer } from './offering.ts'

/**
 * Decides in the transaction which of the records are deleted, when no other transaction can change their distributions any
 * more. An error that it throws ends the transaction.
 */
export type ChooseRecords = (tx: Db, rows: readonly PackageRow[]) => Promise<readonly PackageRow[]>

/** Deletes records. @returns the rows before the deletion; ids that no longer exist, and those not chosen, are left out */
export async function deleteRecords(
  db: Db,
  audit: AuditLog,
  ids: readonly number[],
  deps: {
    offeredOf(row: PackageRow): Placed
    manifestKey(row: PackageRow): string
    auditOf(row: PackageRow): AuditEvent
    choose?: ChooseRecords
  },
): Promise<PackageRow[]> {
  if (ids.length === 0) return []
  return transaction(db, async (tx) => {
    await lockRecords(tx, ids)
    const found = await tx
      .selectFrom('records')
      .selectAll()
      .where('id', 'in', ids)
      .orderBy('distribution')
      .orderBy('id')
      .execute()
    const rows = deps.choose ? await deps.choose(tx, found) : found
    if (rows.length === 0) return []
    const gone = rows.map(({ id }) => id)
    const ended: EndedOffer[] = []
    for (const codename of new Set(rows.map(({ distribution }) => distribution)))
      ended.push(...(await advance(tx, codename, rows)))
    await closeDecisionsOf(tx, gone, 'the package was deleted')
    await tally(tx, gone, -1)
    const deleted = await tx.deleteFrom('packages').where('id', 'in', gone).returning('id').execute()
    // The locks exclude other changes by Gatehouse, but not changes by others in the database.
    if (deleted.length < gone.length)
      throw new Problem('already_running', 'a package is being changed by another request')
    await endOffers(tx, ended, 'delete', GRACE_MS)
    await tx
      .insertInto('pending_deletions')
      .values(
        rows.flatMap((row) => [
          { kind: 'manifest' as const, key: deps.manifestKey(row) },
          { kind: 'file' as const, key: row.sha256 },
        ]),
      )
      .execute()
    await audit.record(rows.map(deps.auditOf), tx)
    const names = new Map(rows.map((row) => [`${row.format} ${row.name}`, row]))
    for (const row of inNameOrder([...names.values()]))
      await refreshArtifact(tx, deps.offeredOf(row).format.versions, row.format, row.name)
    return [...rows]
  })
}

/** Subtracts the records of one distribution from its counters. @returns the offers that end, each with a separate revision */
async function advance(tx: Db, codename: string, rows: readonly PackageRow[]): Promise<EndedOffer[]> {
  const here = rows.filter(({ distribution }) => distribution === codename)
  const served = here.filter((row) => row.served)
  const counts: Partial<Record<PackageStatus, number>> = {}
  for (const { status } of here) counts[status] = (counts[status] ?? 0) - 1
  const revision = await lockAndAdvance(tx, codename, {
    offers: served.length,
    counts,
    bytes: -here.reduce((sum, { size_bytes: size }) => sum + size, 0),
  })
  return served.map(({ id }, i) => ({ id, revision: revision - served.length + i + 1 }))
}
