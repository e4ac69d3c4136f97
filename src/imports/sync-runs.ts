// Requests for syncs of several sources: which sources are read, and whether such a run is already under way.
import { Problem } from '../domain/problem.ts'
import type { Db } from '../store/db.ts'
import type { SourceRow } from '../store/tables.ts'
import { openTask } from '../tasks/task-query.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Sources } from './sources.ts'
import { SYNC_RUN, type JobProgress, type SyncRunArguments } from './sync-run.ts'

export interface SyncRunRequest {
  /** numbers or keys; these are read even if they are disabled */
  sourceIds?: readonly string[] | undefined
  /** type of the sources; all without it */
  type?: string | undefined
  securityOnly?: boolean | undefined
}

export interface SyncRuns {
  /** Begins a run, or joins the one that is under way. @throws Problem('not_found') */
  start(request: SyncRunRequest, by: string, requestId: string | null): Promise<{ id: number; joined: boolean }>
  /** The daily sync of security sources, to its end. @throws as `Tasks.run` */
  daily(): Promise<JobProgress>
}

export function createSyncRuns(deps: {
  db: Db
  sources: Pick<Sources, 'all' | 'find' | 'isEnabled'>
  tasks: Pick<Tasks, 'enqueue' | 'ended'>
}): SyncRuns {
  const { db, sources, tasks } = deps

  async function chosen({ sourceIds, type, securityOnly }: SyncRunRequest): Promise<SourceRow[]> {
    const all = sourceIds
      ? await Promise.all([...new Set(sourceIds)].map(sources.find))
      : (await sources.all()).filter(sources.isEnabled)
    return all.filter((source) => (!type || source.type === type) && (!securityOnly || source.security))
  }

  async function start(request: SyncRunRequest, by: string, requestId: string | null) {
    const rows = await chosen(request)
    const open = await openTask(db, SYNC_RUN, '')
    if (open) return { id: open.id, joined: true }
    const run: SyncRunArguments = {
      source_ids: rows.map(({ id }) => id),
      label: labelOf(request, rows),
      security_only: request.securityOnly ?? false,
      by,
    }
    return tasks.enqueue({ kind: SYNC_RUN, arguments: { ...run }, createdBy: by, requestId })
  }

  return {
    start,
    async daily() {
      const { id } = await start({ securityOnly: true }, 'scheduler', null)
      const { total, done_count, error_count } = (await tasks.ended(id)) as unknown as JobProgress
      if (error_count > 0 && done_count === 0)
        throw new Problem('upstream_error', `none of ${total} sources could be read; the lines of task ${id} say why`)
      return { total, done_count, error_count }
    },
  }
}

function labelOf({ sourceIds, type, securityOnly }: SyncRunRequest, rows: readonly SourceRow[]): string {
  if (sourceIds && rows.length <= 3) return rows.map(({ name }) => name).join(', ')
  const words = [securityOnly ? 'security' : null, type ?? null].filter((word) => word !== null)
  return sourceIds ? `${rows.length} sources` : ['all', ...words, 'sources'].join(' ')
}
