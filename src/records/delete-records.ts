// The transaction that deletes records.
import type { AuditEvent } from '../domain/audit.ts'
import { GRACE_MS } from '../domain/grace.ts'
import { Problem } from '../domain/problem.ts'
import type { Offered } from '../formats/format.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import { closeDecisionsOf } from '../store/records/decisions.ts'
import { tally } from '../store/records/counters.ts'
import type { PackageRow } from '../store/tables.ts'
import { inNameOrder, refreshArtifact } from './artifacts.ts'
import { lockAndAdvance, lockDistributionsOf } from './distribution-row.ts'
import { endOffer } from './offering.ts'

/**
 * Decides in the transaction which of the records go, when no other transaction can change their distributions any more.
 * What it throws ends the transaction.
 */
export type ChooseRecords = (tx: Db, rows: readonly PackageRow[]) => Promise<readonly PackageRow[]>

/** Deletes records. @returns the rows as they were; ids that no longer exist, and those not chosen, are left out */
export async function deleteRecords(
  db: Db,
  audit: AuditLog,
  ids: readonly number[],
  deps: {
    offeredOf(row: PackageRow): Offered
    manifestKey(row: PackageRow): string
    auditOf(row: PackageRow): AuditEvent
    choose?: ChooseRecords
  },
): Promise<PackageRow[]> {
  return db.transaction().execute(async (tx) => {
    if (deps.choose) await lockDistributionsOf(tx, ids)
    const found = await tx
      .selectFrom('records')
      .selectAll()
      .where('id', 'in', ids)
      .orderBy('distribution')
      .orderBy('id')
      .execute()
    const rows = deps.choose ? await deps.choose(tx, found) : found
    const gone: PackageRow[] = []
    for (const row of rows) {
      const revision = await lockAndAdvance(tx, row.distribution, {
        offers: Number(row.served),
        counts: { [row.status]: -1 },
        bytes: -row.size_bytes,
      })
      await closeDecisionsOf(tx, row.id, 'the package was deleted')
      await tally(tx, [row.id], -1)
      const deleted = await tx
        .deleteFrom('packages')
        .where('id', '=', row.id)
        .where('status', '=', row.status)
        .returning('id')
        .executeTakeFirst()
      if (!deleted)
        throw new Problem('already_running', `${row.name} ${row.version} is being changed by another request`)
      gone.push(row)
      if (row.served) await endOffer(tx, row.id, revision, 'delete', GRACE_MS)
      await tx
        .insertInto('pending_deletions')
        .values([
          { kind: 'manifest', key: deps.manifestKey(row) },
          { kind: 'file', key: row.sha256 },
        ])
        .execute()
      await audit.record(deps.auditOf(row), tx)
    }
    const names = new Map(gone.map((row) => [`${row.format} ${row.name}`, row]))
    for (const row of inNameOrder([...names.values()]))
      await refreshArtifact(tx, deps.offeredOf(row).format.versions, row.format, row.name)
    return gone
  })
}
