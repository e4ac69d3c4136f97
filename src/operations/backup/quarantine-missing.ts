// Quarantines packages whose files a backup lacks, so that the indexes of the other packages can be built.
import type { AuditEvent } from '../../domain/audit.ts'
import { isRefused } from '../../domain/transitions.ts'
import { findDistribution } from '../../formats/index.ts'
import type { Clock } from '../../kernel/clock.ts'
import { changeRecord, lockIfThere } from '../../packages/records/change-record.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import type { MissingFile } from './missing.ts'

const REASON = 'its file was missing when the backup was made'

export interface WithdrawDeps {
  db: Db
  clock: Clock
  audit: AuditLog
}

/** Quarantines them as a person would. @returns `name version arch in distribution` of each */
export async function quarantineMissing(
  { db, clock, audit }: WithdrawDeps,
  missing: readonly MissingFile[],
): Promise<string[]> {
  const withdrawn: string[] = []
  for (const { sha256 } of missing) {
    const rows = await db.selectFrom('packages').select('id').where('sha256', '=', sha256).orderBy('id').execute()
    for (const { id } of rows) {
      await transaction(db, async (tx) => {
        const before = await lockIfThere(tx, id)
        const offered = before && findDistribution(before.distribution)
        if (!offered || isRefused(before.status)) return
        const { name, version, distribution, arch } = before
        const event: AuditEvent = {
          action: 'QUARANTINE',
          result: 'SUCCESS',
          user: 'restore',
          package: name,
          version,
          distribution,
          arch,
        }
        const change = {
          event: 'quarantine' as const,
          review: { quarantined_at: clock.now(), quarantined_by: 'restore' },
          audit: { ...event, outcome: 'quarantined', detail: REASON, extra: { sha256 } },
        }
        await changeRecord(tx, audit, before, change, offered)
        withdrawn.push(`${name} ${version} ${arch} in ${distribution}`)
      })
    }
  }
  return withdrawn
}
