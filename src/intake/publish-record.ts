// Makes a new record visible: its manifest and, if the gate let it pass, the index. A record that cannot be is deleted again.
import { isProblem, Problem } from '../domain/problem.ts'
import type { StepEvent } from '../gate/step.ts'
import type { Offered } from '../formats/format.ts'
import { allEnded } from '../kernel/all-ended.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import { isStorageFull } from '../kernel/files.ts'
import type { Publisher } from '../publish/publisher.ts'
import { deleteRecords } from '../records/delete-records.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import type { Manifests } from '../store/records/manifests.ts'
import type { PackageRow } from '../store/tables.ts'
import type { FormatRegistry } from './identify.ts'
import { namesOf } from './new-record.ts'

/** @throws Problem('publication_failed'), or what the publisher or the disk reported; no record remains then */
export type PublishRecord = (row: PackageRow, progress: (event: StepEvent) => void) => Promise<void>

export function createPublishRecord(deps: {
  db: Db
  audit: AuditLog
  manifests: Manifests
  publisher: Publisher
  registry: FormatRegistry
  checkpoint: Checkpoint
  /** removes manifests and bytes of deleted records */
  clean(): Promise<void>
}): PublishRecord {
  const { manifests, publisher, checkpoint } = deps

  /** The upload was not acknowledged, so no record may remain. */
  async function deleteUnpublished(row: PackageRow, cause: unknown): Promise<never> {
    await deleteRecords(deps.db, deps.audit, [row.id], {
      offeredOf: (record) => deps.registry.find(record.distribution) as Offered,
      manifestKey: manifests.key,
      auditOf: () => ({
        ...namesOf(row),
        action: 'PUBLISH_FAILURE',
        result: 'FAILURE',
        user: row.imported_by,
        outcome: 'publication_failed',
      }),
    })
    // Whatever fails here is done by the next recovery.
    if (row.served) await publisher.converge(row.distribution).catch(() => {})
    await deps.clean().catch(() => {})
    if (isProblem(cause) || isStorageFull(cause)) throw cause
    throw new Problem('publication_failed', 'the package could not be published; nothing was stored', {}, { cause })
  }

  return async (row, progress) => {
    const published = row.status === 'published'
    if (published) progress({ name: 'index', label: 'Index', status: 'running', message: '', detail: null })
    const manifest = manifests.write([row.id]).then(() => checkpoint('manifest-written'))
    const index = published ? publisher.converge(row.distribution) : Promise.resolve()
    // Both have ended before the record is deleted.
    await allEnded([manifest, index]).catch((cause: unknown) => deleteUnpublished(row, cause))
    progress({ name: 'manifest', label: 'Manifest', status: 'done', message: 'written', detail: null })
    if (published)
      progress({ name: 'index', label: 'Index', status: 'done', message: 'the new index is live', detail: null })
  }
}
