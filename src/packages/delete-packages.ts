// Deletes packages: the records in one transaction, then the index without them, then their files.
import type { Origin } from '../domain/audit.ts'
import type { Caller } from '../domain/caller.ts'
import { Problem } from '../domain/problem.ts'
import type { Placed } from '../formats/intake-format.ts'
import type { Bus } from '../kernel/bus.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import { deleteRecords, type ChooseRecords } from './records/delete-records.ts'
import type { PendingDeletions } from './records/pending-deletions.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import { matchingRecords, type RecordSelector } from '../store/records/artifact-query.ts'
import type { Manifests } from './records/manifests.ts'
import type { PackageRow } from '../store/tables.ts'
import type { Publisher } from '../publish/publisher.ts'
import { publishSeen, seenChanges } from '../publish/seen-changes.ts'

export interface DeletePackagesDeps {
  db: Db
  audit: AuditLog
  bus: Bus
  publisher: Publisher
  manifests: Pick<Manifests, 'key'>
  pendingDeletions: Pick<PendingDeletions, 'run'>
  checkpoint: Checkpoint
  offeredOf(row: Pick<PackageRow, 'distribution'>): Placed
  onError(error: unknown): void
}

/**
 * Returns once clients no longer see the packages; their files are deleted afterwards.
 * @returns the records before the deletion
 * @throws Problem('not_found') when the selector names none
 */
export type DeletePackages = (selector: RecordSelector, caller: Caller, origin: Origin) => Promise<PackageRow[]>

/**
 * The same for records by id.
 * @param by user name
 * @param extra further keys of the audit entries
 * @param choose decides in the transaction which of them are deleted; by default all
 * @returns the records before the deletion; those that no longer exist are left out
 */
export type DeleteIds = (
  ids: readonly number[],
  by: string,
  origin: Origin,
  extra?: Record<string, unknown>,
  choose?: ChooseRecords,
) => Promise<PackageRow[]>

export function createDeletePackages({ db, deleteIds }: { db: Db; deleteIds: DeleteIds }): DeletePackages {
  return async (selector, caller, origin) => {
    const rows = await matchingRecords(db, selector).select('id').execute()
    if (rows.length === 0) throw unknownPackage(selector)
    return deleteIds(
      rows.map((row) => row.id),
      caller.name,
      origin,
    )
  }
}

export function createDeleteIds(deps: DeletePackagesDeps): DeleteIds {
  const { db, audit, bus, publisher } = deps
  return async (ids, by, origin, extra = {}, choose) => {
    const deleted = await deleteRecords(db, audit, ids, {
      offeredOf: deps.offeredOf,
      manifestKey: deps.manifests.key,
      auditOf: (row) => ({
        action: 'DELETE',
        result: 'SUCCESS',
        user: by,
        package: row.name,
        version: row.version,
        distribution: row.distribution,
        arch: row.arch,
        outcome: row.status,
        ip: origin.ip,
        requestId: origin.requestId,
        extra: { sha256: row.sha256, ...extra },
      }),
      ...(choose ? { choose } : {}),
    })
    deps.checkpoint('deleted')
    await publishSeen(publisher, seenChanges(deleted))
    for (const { name, version, distribution } of deleted)
      bus.emit('package', { action: 'deleted', package: name, version, distribution, status: null })
    void deps.pendingDeletions.run().catch(deps.onError)
    return deleted
  }
}

export function unknownPackage(selector: RecordSelector): Problem {
  const { name, version, format, distribution, arch } = selector
  const named = [name, version, format, distribution, arch].filter(Boolean).join(' ').slice(0, 300)
  return new Problem('not_found', `there is no package ${named}`)
}
