// A change of accounts and the audit entries of it, committed together. Must not know which change it is.
import type { Origin } from '../domain/audit.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'

/** Notes in the audit log, as part of the change, what was done. */
export type Note = (action: string, detail: string, extra?: Record<string, unknown>) => Promise<void>

export interface ChangeParts {
  db: Db
  audit: AuditLog
  /** told of a failure that the caller of the change is not to suffer from */
  onError: (error: unknown) => void
}

/** Runs `work` in one transaction; what it throws undoes it with its notes. Only queries belong in it. */
export async function change<T>(
  parts: ChangeParts,
  actor: string,
  origin: Origin,
  work: (tx: Db, note: Note) => Promise<T>,
): Promise<T> {
  const result = await parts.db
    .transaction()
    .execute((tx) =>
      work(tx, (action, detail, extra) =>
        parts.audit.record(
          { action, result: 'SUCCESS', user: actor, detail, extra, ip: origin.ip, requestId: origin.requestId },
          tx,
        ),
      ),
    )
  // Nobody waits for the chaining, as with an entry recorded outside a transaction.
  void parts.audit.flush().catch(parts.onError)
  return result
}
