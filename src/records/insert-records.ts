// The transaction that makes records: those that arrive together in one distribution, with everything that must change together with them.
import type { Insertable } from 'kysely'
import type { AuditEvent } from '../domain/audit.ts'
import { Problem } from '../domain/problem.ts'
import type { PackageStatus } from '../domain/status.ts'
import type { BatchOutcome } from '../kernel/batches.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import { tally } from '../store/records/counters.ts'
import { storeFindings } from '../store/records/findings.ts'
import type { BlobsTable, PackageRow, PackagesTable } from '../store/tables.ts'
import { noteArtifacts } from './artifacts.ts'
import type { Offered } from '../formats/format.ts'
import { lockAndAdvance } from './distribution-row.ts'
import { offer } from './offering.ts'
import { blobOf, insertBlobs } from './stored-files.ts'

export interface NewRecord {
  /** without what this room decides: revision, position, counters */
  record: Omit<Insertable<PackagesTable>, 'changed_revision' | 'position' | 'manifest_pending' | 'served'>
  blob: Insertable<BlobsTable>
  audit: AuditEvent
  /** Puts the bytes into their place if they are not there; called under the lock under which others remove them. */
  ensureBytes(): Promise<void>
}

/**
 * Inserts records of one distribution; `served` follows from a status of `published`. Together, since a transaction takes ten
 * round trips for one as for many; one after the other when something stops them together, as a name that is taken or bytes that find no room.
 * @returns for each its row or what kept it out: Problem('duplicate_conflict') when name, version and architecture are taken there
 */
export async function insertRecords(
  db: Db,
  audit: AuditLog,
  offered: Offered,
  inputs: readonly NewRecord[],
): Promise<BatchOutcome<PackageRow>[]> {
  try {
    return (await insertAtOnce(db, audit, offered, inputs)).map((value) => ({ value }))
  } catch (error) {
    if (inputs.length === 1) return [{ error }]
  }
  const outcomes: BatchOutcome<PackageRow>[] = []
  for (const input of inputs) outcomes.push(...(await insertRecords(db, audit, offered, [input])))
  return outcomes
}

/** @throws Problem('duplicate_conflict') when one of them is taken, in which case nothing was inserted */
async function insertAtOnce(
  db: Db,
  audit: AuditLog,
  offered: Offered,
  inputs: readonly NewRecord[],
): Promise<PackageRow[]> {
  const { format, distribution } = offered
  return db.transaction().execute(async (tx) => {
    const counts: Partial<Record<PackageStatus, number>> = {}
    for (const { record } of inputs) counts[record.status] = (counts[record.status] ?? 0) + 1
    const offers = counts.published ?? 0
    const revision = await lockAndAdvance(tx, distribution.codename, {
      offers,
      counts,
      bytes: inputs.reduce((sum, { record }) => sum + record.size_bytes, 0),
    })
    const blobs = new Map(inputs.map(({ blob }) => [blob.sha256, blob]))
    await insertBlobs(tx, [...blobs.values()])
    await Promise.all(inputs.map((input) => input.ensureBytes()))
    let next = revision - offers
    const rows = await tx
      .insertInto('packages')
      .values(
        inputs.map(({ record }) => {
          const served = record.status === 'published'
          if (served) next++
          return {
            ...record,
            served,
            changed_revision: served ? next : revision,
            position: served ? next : null,
            manifest_pending: true,
          }
        }),
      )
      .onConflict((c) => c.columns(['distribution', 'name', 'version', 'arch']).doNothing())
      .returningAll()
      .execute()
    if (rows.length < inputs.length) {
      const { name, version, arch } = (inputs[0] as NewRecord).record
      throw new Problem('duplicate_conflict', `${name} ${version} (${arch}) is already in ${distribution.codename}`)
    }
    const served = rows.filter((row) => row.served)
    if (served.length > 0)
      await offer(
        tx,
        served.map((row) => ({ row, blob: blobOf(blobs.get(row.sha256) as Insertable<BlobsTable>) })),
        offered,
      )
    for (const row of rows) await storeFindings(tx, row)
    await tally(
      tx,
      rows.map((row) => row.id),
      1,
    )
    await noteArtifacts(tx, format.versions, rows)
    await audit.record(
      inputs.map((input) => input.audit),
      tx,
    )
    const byIdentity = new Map(rows.map((row) => [identityOf(row), row]))
    return inputs.map(({ record }) => byIdentity.get(identityOf(record)) as PackageRow)
  })
}

const identityOf = (record: { name: string; version: string; arch: string }) =>
  JSON.stringify([record.name, record.version, record.arch])
