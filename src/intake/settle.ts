// Makes the gate's result durable: puts the bytes in their place, then adds the record and its rows in one transaction.
import { isProblem } from '../domain/problem.ts'
import type { Candidate, StepEvent } from '../gate/step.ts'
import { createKeyedBatches } from '../kernel/batches.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import { removeFile } from '../kernel/files.ts'
import { renderNew } from '../packages/records/entries.ts'
import { insertRecords, type NewRecord } from '../packages/records/insert-records.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import type { Pool } from '../store/files/pool.ts'
import type { Staging } from '../store/files/staging.ts'
import type { PackageRow } from '../store/tables.ts'
import type { FindDuplicate } from '../packages/identify.ts'

/** Records in one transaction; other uploads to the distribution wait while it runs. */
const MOST_TOGETHER = 50

/** Takes the candidate's file over. @throws Problem('already_exists' or 'duplicate_conflict') */
export type Settle = (
  candidate: Candidate,
  record: Omit<NewRecord, 'ensureBytes' | 'entries'>,
  progress: (event: StepEvent) => void,
) => Promise<PackageRow>

export function createSettle(deps: {
  db: Db
  audit: AuditLog
  pool: Pool
  staging: Staging
  checkpoint: Checkpoint
  findDuplicate: FindDuplicate
}): Settle {
  const { db, audit, pool, staging, checkpoint } = deps
  /** Records of one distribution that wait for a transaction share the next one. */
  const insertTogether = createKeyedBatches(
    (_codename, inputs: readonly { candidate: Candidate; record: NewRecord }[]) => {
      const [{ candidate }] = inputs as [(typeof inputs)[number]]
      return insertRecords(
        db,
        audit,
        candidate,
        inputs.map(({ record }) => record),
      )
    },
    MOST_TOGETHER,
  )

  return async (candidate, record, progress) => {
    const file = { format: candidate.format.id, sha256: candidate.digests.sha256, filename: candidate.filename }
    const isRefused = record.record.status === 'quarantined'
    const path = await staging.identify(candidate.path, file)
    const hold = pool.hold(path, file, isRefused ? 'quarantine' : 'pool')
    try {
      const isPublished = record.record.status === 'published'
      const entries = isPublished ? await renderNew(record.record, record.blob, candidate.facts, candidate) : []
      await hold.ensure()
      const message = isRefused ? 'in quarantine' : 'stored'
      progress({ name: 'pool', label: 'Storage', status: 'done', message, detail: null })
      checkpoint('pooled')
      const row = await insertTogether(candidate.distribution.codename, {
        candidate,
        record: { ...record, entries, ensureBytes: () => hold.ensure() },
      })
      checkpoint('settled')
      await removeFile(path)
      return row
    } catch (error) {
      await staging.discard(path)
      // Another upload inserted the same name since the first check; a second check tells which of the two conflicts it is.
      if (isProblem(error, 'duplicate_conflict')) await deps.findDuplicate(candidate)
      throw error
    }
  }
}
