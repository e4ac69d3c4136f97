// /import/mirror: starting runs of mirrors, and their jobs.
import type { MirrorCounts } from '../imports/mirror/progress.ts'
import { MIRROR, type MirrorResult } from '../imports/mirror/run.ts'
import type { MirrorRuns } from '../imports/mirror/start.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import type { TaskRow } from '../store/tables.ts'
import { openTasks, taskPage } from '../tasks/task-query.ts'
import type { Tasks } from '../tasks/tasks.ts'
import { jobOf, jobTask, streamJob } from './import-jobs.ts'
import {
  getImportMirrorJobs,
  getImportMirrorJobsActive,
  getImportMirrorJobsId,
  getImportMirrorJobsIdStream,
  postImportMirrorJobsIdCancel,
  postImportMirrorStartSource,
} from './import-mirror-jobs.contract.ts'
import { cancelJob } from './import-sync.ts'
import { handle, type Route } from './route.ts'
import { createOpenStreams } from './sse.ts'
import type { TaskStreamDeps } from './task-stream.ts'

export interface ImportMirrorJobDeps extends TaskStreamDeps {
  db: Db
  audit: Pick<AuditLog, 'record'>
  mirrorRuns: Pick<MirrorRuns, 'start'>
  tasks: Pick<Tasks, 'follow' | 'cancel'>
}

const JOBS_SHOWN = 100
const NOTHING: MirrorCounts = { added: 0, pending: 0, blocked: 0, skipped: 0, error: 0 }

export function importMirrorJobRoutes(deps: ImportMirrorJobDeps): Route[] {
  const { db } = deps
  const openOne = createOpenStreams()
  return [
    handle(postImportMirrorStartSource, async ({ params, query, caller, origin }) => {
      const request = { by: caller.name, limit: query.limit, requestId: origin.requestId }
      const { taskId, already_running } = await deps.mirrorRuns.start(params.source, request)
      return { ...mirrorJobOf(await jobTask(db, MIRROR, taskId)), already_running }
    }),
    handle(getImportMirrorJobs, async () => {
      const { items, total } = await taskPage(db, { kind: MIRROR }, { page: 1, perPage: JOBS_SHOWN })
      return { jobs: items.map(mirrorJobOf), total }
    }),
    handle(getImportMirrorJobsActive, async () => {
      const jobs = (await openTasks(db, MIRROR)).map(mirrorJobOf)
      return { jobs, total: jobs.length }
    }),
    handle(getImportMirrorJobsId, async ({ params }) => mirrorJobOf(await jobTask(db, MIRROR, params.id))),
    handle(getImportMirrorJobsIdStream, async ({ params, query, caller, raw, reply }) => {
      const task = await jobTask(db, MIRROR, params.id)
      const closed = openOne(caller.principal)
      const { access } = getImportMirrorJobsIdStream
      const options = { fromIndex: query.from_index, access, view: mirrorJobOf }
      await streamJob(deps, task, options, raw, reply).finally(closed)
      return undefined
    }),
    handle(postImportMirrorJobsIdCancel, async ({ params, caller, origin }) => {
      const { id } = await jobTask(db, MIRROR, params.id)
      return cancelJob(deps, MIRROR, id, caller, origin)
    }),
  ]
}

/** A run as clients see it (docs/api-decisions.md, section 21). */
export function mirrorJobOf(task: TaskRow) {
  const result = task.result as Partial<MirrorResult> | null
  const { counts } = (task.cursor ?? {}) as { counts?: MirrorCounts }
  const { added, pending, blocked, skipped, error } = { ...NOTHING, ...counts, ...result }
  return {
    ...jobOf(task),
    ...{ source_id: Number(task.key), distribution: result?.distribution ?? null },
    ...{ added, pending, blocked, skipped, error },
    ...{ stopped: result?.stopped ?? null, withdrawn: result?.withdrawn ?? 0, removed: result?.removed ?? 0 },
    message: task.error,
  }
}
