// Commits a change of accounts and its audit entries in one transaction.
import type { Origin } from '../domain/audit.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'

/** Adds an audit entry to the transaction of the change; `by` replaces the actor of the change. */
export type Note = (action: string, detail: string, extra?: Record<string, unknown>, by?: string) => Promise<void>

export interface ChangeDeps {
  db: Db
  audit: AuditLog
  /** receives failures after the commit, which must not fail the request */
  onError: (error: unknown) => void
}

/** Runs `work` in one transaction; an error rolls back the change and its entries. `work` must do queries only. */
export async function change<T>(
  deps: ChangeDeps,
  actor: string,
  origin: Origin,
  work: (tx: Db, note: Note) => Promise<T>,
): Promise<T> {
  const result = await transaction(deps.db, (tx) =>
    work(tx, (action, detail, extra, by = actor) =>
      deps.audit.record(
        { action, result: 'SUCCESS', user: by, detail, extra, ip: origin.ip, requestId: origin.requestId },
        tx,
      ),
    ),
  )
  // The caller does not wait for chaining and filing.
  void deps.audit.flush().catch(deps.onError)
  return result
}
