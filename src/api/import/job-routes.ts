// The routes of import jobs: the same for each kind of task that /import shows as jobs.
import type { Caller } from '../../domain/caller.ts'
import type { Origin } from '../../domain/audit.ts'
import { isProblem } from '../../domain/problem.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import type { TaskRow } from '../../store/tables.ts'
import { openTasks, taskPage } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { jobOf, jobTask, streamJob } from './jobs.ts'
import type {
  getImportSyncJobs,
  getImportSyncJobsActive,
  getImportSyncJobsId,
  getImportSyncJobsIdStream,
  postImportSyncJobsIdCancel,
} from './sync.contract.ts'
import { handle, type Route } from '../http/route.ts'
import { createOpenStreams } from '../http/sse.ts'
import type { TaskStreamDeps } from '../tasks/stream.ts'
import { cancelTask } from '../tasks/tasks.ts'

export interface JobRouteDeps extends TaskStreamDeps {
  db: Db
  audit: Pick<AuditLog, 'record'>
  tasks: Pick<Tasks, 'follow' | 'cancel'>
}

/** The declarations of a contract. */
export interface JobDeclarations {
  list: typeof getImportSyncJobs
  active: typeof getImportSyncJobsActive
  one: typeof getImportSyncJobsId
  stream: typeof getImportSyncJobsIdStream
  cancel: typeof postImportSyncJobsIdCancel
}

const JOBS_SHOWN = 100

/** @param view a task of this kind as clients see it */
export function jobRoutes(
  deps: JobRouteDeps,
  kind: string,
  declared: JobDeclarations,
  view: (task: TaskRow) => object = (task) => jobOf(task),
): Route[] {
  const { db } = deps
  const openOne = createOpenStreams()
  return [
    handle(declared.list, async () => {
      const { items, total } = await taskPage(db, { kind }, { page: 1, perPage: JOBS_SHOWN })
      return { jobs: items.map(view), total }
    }),
    handle(declared.active, async () => {
      const jobs = (await openTasks(db, kind)).map(view)
      return { jobs, total: jobs.length }
    }),
    handle(declared.one, async ({ params }) => view(await jobTask(db, kind, params.id))),
    handle(declared.stream, async ({ params, query, caller, raw, reply }) => {
      const task = await jobTask(db, kind, params.id)
      const closed = openOne(caller.principal)
      const options = { fromIndex: query.from_index, access: declared.stream.access, view }
      await streamJob(deps, task, options, raw, reply).finally(closed)
      return undefined
    }),
    handle(declared.cancel, async ({ params, caller, origin }) => {
      const { id } = await jobTask(db, kind, params.id)
      return cancelJob(deps, kind, id, caller, origin)
    }),
  ]
}

/** Cancelling an ended job changes nothing and is not an error. */
async function cancelJob(
  deps: Pick<JobRouteDeps, 'tasks' | 'audit' | 'db'>,
  kind: string,
  id: number,
  caller: Caller,
  origin: Origin,
) {
  try {
    const task = await cancelTask(deps, id, caller, origin)
    return { job_id: id, cancelled: true, status: jobOf(task).status, message: 'the job is being cancelled' }
  } catch (error) {
    if (!isProblem(error, 'task_ended')) throw error
    const { status } = jobOf(await jobTask(deps.db, kind, id))
    return { job_id: id, cancelled: false, status, message: 'the job has ended' }
  }
}
