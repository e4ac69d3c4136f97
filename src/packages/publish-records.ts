// Publishes new records: writes their manifests and, if the gate passed them, the index. Deletes records it cannot publish.
import { isProblem, Problem } from '../domain/problem.ts'
import type { StepEvent } from '../gate/step.ts'
import type { Placed } from '../formats/intake-format.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import { isStorageFull } from '../kernel/files.ts'
import type { Publisher } from '../publish/publisher.ts'
import { publishSeen, seenChanges } from '../publish/seen-changes.ts'
import { deleteRecords } from './records/delete-records.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import type { Manifests } from './records/manifests.ts'
import type { PackageRow } from '../store/tables.ts'
import type { FormatRegistry } from './identify.ts'
import { namesOf } from './new-record.ts'

/** @throws Problem('publication_failed'), or the error of the publisher or the disk; no record remains then */
export type PublishRecords = (rows: readonly PackageRow[], progress: (event: StepEvent) => void) => Promise<void>

export function createPublishRecords(deps: {
  db: Db
  audit: AuditLog
  manifests: Manifests
  publisher: Publisher
  registry: FormatRegistry
  checkpoint: Checkpoint
  /** removes manifests and bytes of deleted records */
  clean(): Promise<void>
}): PublishRecords {
  const { manifests, publisher, checkpoint } = deps

  /** No upload was acknowledged, so no record may remain. */
  async function deleteUnpublished(rows: readonly PackageRow[], cause: unknown): Promise<never> {
    const ids = rows.map((row) => row.id)
    await deleteRecords(deps.db, deps.audit, ids, {
      offeredOf: (record) => deps.registry.place(record.distribution) as Placed,
      manifestKey: manifests.key,
      auditOf: (row) => ({
        ...namesOf(row),
        action: 'PUBLISH_FAILURE',
        result: 'FAILURE',
        user: row.imported_by,
        outcome: 'publication_failed',
      }),
    })
    // Recovery repeats what fails here.
    await publishSeen(publisher, seenChanges(rows)).catch(() => {})
    await deps.clean().catch(() => {})
    if (isProblem(cause) || isStorageFull(cause)) throw cause
    throw new Problem('publication_failed', 'the package could not be published; nothing was stored', {}, { cause })
  }

  return async (rows, progress) => {
    const seen = seenChanges(rows)
    const isPublished = seen.size > 0
    if (isPublished) progress({ name: 'index', label: 'Index', status: 'running', message: '', detail: null })
    try {
      // First: on a full disk a package without a manifest must not become visible, because it could not be removed again.
      await manifests.write(rows.map((row) => row.id))
      checkpoint('manifest-written')
      // Waits for all of them to end before the records are deleted.
      await publishSeen(publisher, seen)
    } catch (cause) {
      await deleteUnpublished(rows, cause)
    }
    progress({ name: 'manifest', label: 'Manifest', status: 'done', message: 'written', detail: null })
    if (isPublished)
      progress({ name: 'index', label: 'Index', status: 'done', message: 'the new index is live', detail: null })
  }
}
