// Syncs several sources, as one task: what `/import/sync/start` and the daily sync of security sources begin.
import { isProblem } from '../domain/problem.ts'
import type { TaskContext, TaskKind } from '../domain/tasks.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import { followSync, type SyncTasks } from './follow-sync.ts'
import { countUpdates } from './security-updates.ts'
import { SYNC, type Sources } from './sources.ts'

export const SYNC_RUN = 'sync_run'

export interface SyncRunArguments {
  source_ids: number[]
  /** what people read of it */
  label: string
  security_only: boolean
  by: string
}

/** How far a job has come; the cursor and the result of its task. */
export interface JobProgress {
  total: number
  done_count: number
  error_count: number
}

interface Cursor extends JobProgress {
  /** sources that are left, in order */
  left: number[]
}

export interface SyncRunDeps {
  db: Db
  audit: Pick<AuditLog, 'record'>
  sources: Pick<Sources, 'find'>
  /** of the tasks of single sources */
  tasks(): SyncTasks
}

/**
 * One run at a time. A source that cannot be read does not stop the others. Cancelling the run cancels the sync of the source
 * that is being read.
 */
export function syncRunKind(deps: SyncRunDeps): TaskKind {
  return {
    kind: SYNC_RUN,
    lane: 'bulk',
    leaderOnly: false,
    atOnce: 1,
    async run(context) {
      const { source_ids: ids, security_only: isSecurity, by } = context.arguments as unknown as SyncRunArguments
      const begun = context.cursor as Cursor | null
      const cursor: Cursor = begun ?? { total: ids.length, done_count: 0, error_count: 0, left: ids }
      for (let id = cursor.left[0]; id !== undefined; id = cursor.left[0]) {
        context.signal.throwIfAborted()
        const isRead = await syncOne(deps, id, by, context)
        cursor.left = cursor.left.slice(1)
        if (isRead) cursor.done_count++
        else cursor.error_count++
        await context.save({ ...cursor })
      }
      const { left: _left, ...progress } = cursor
      if (!isSecurity) return progress
      const updates = await countUpdates(deps.db)
      context.line(`${updates} published packages have a newer version in a security source`)
      await deps.audit.record({
        action: 'SECURITY_SYNC',
        result: cursor.error_count === 0 ? 'SUCCESS' : cursor.done_count === 0 ? 'FAILURE' : 'WARNING',
        user: by,
        detail: `${cursor.done_count} of ${cursor.total} sources read; ${updates} packages have a newer version there`,
        extra: { ...progress, updates },
      })
      return { ...progress, updates }
    },
  }
}

/** @returns false when the source could not be read; a line says why */
async function syncOne(deps: SyncRunDeps, id: number, by: string, context: TaskContext): Promise<boolean> {
  const source = await deps.sources.find(String(id)).catch((error: unknown) => {
    if (isProblem(error, 'not_found')) return null
    throw error
  })
  const failed = (message: string, code: string) => {
    context.line(message, { status: 'error', code, count: 0, source_id: id })
    return false
  }
  if (!source) return failed(`the source ${id} was deleted`, 'not_found')
  const tasks = deps.tasks()
  const taskId = await context.enqueue({ kind: SYNC, key: String(id), arguments: { by } })
  const ended = await followSync(tasks, taskId, context, ({ message, data }) =>
    context.line(`${source.name}: ${message}`, data ?? undefined),
  )
  if (ended.state === 'done') return true
  return failed(`${source.name}: ${ended.error ?? 'the sync was cancelled'}`, ended.error_code ?? 'task_cancelled')
}
