// /import/mirror: starting runs of mirrors, and their jobs.
import type { MirrorCounts } from '../../imports/mirror/progress.ts'
import { MIRROR, type MirrorResult } from '../../imports/mirror/run.ts'
import type { MirrorRuns } from '../../imports/mirror/start.ts'
import type { TaskRow } from '../../store/tables.ts'
import { jobRoutes, type JobRouteDeps } from './job-routes.ts'
import { jobOf, jobTask } from './jobs.ts'
import {
  getImportMirrorJobs,
  getImportMirrorJobsActive,
  getImportMirrorJobsId,
  getImportMirrorJobsIdStream,
  postImportMirrorJobsIdCancel,
  postImportMirrorStartSource,
} from './mirror-jobs.contract.ts'
import { handle, type Route } from '../http/route.ts'

export interface ImportMirrorJobDeps extends JobRouteDeps {
  mirrorRuns: Pick<MirrorRuns, 'start'>
}

const JOBS = {
  list: getImportMirrorJobs,
  active: getImportMirrorJobsActive,
  one: getImportMirrorJobsId,
  stream: getImportMirrorJobsIdStream,
  cancel: postImportMirrorJobsIdCancel,
}
const NOTHING: MirrorCounts = { added: 0, pending: 0, blocked: 0, skipped: 0, error: 0 }

export function importMirrorJobRoutes(deps: ImportMirrorJobDeps): Route[] {
  const { db } = deps
  return [
    handle(postImportMirrorStartSource, async ({ params, query, caller, origin }) => {
      const request = { by: caller.name, limit: query.limit, requestId: origin.requestId }
      const { taskId, already_running } = await deps.mirrorRuns.start(params.source, request)
      return { ...mirrorJobOf(await jobTask(db, MIRROR, taskId)), already_running }
    }),
    ...jobRoutes(deps, MIRROR, JOBS, mirrorJobOf),
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
    ...{ refused: result?.refused ?? 0, dependencies: result?.dependencies ?? 0, unresolved: result?.unresolved ?? 0 },
    message: task.error ?? failuresOf(task, error),
  }
}

/** A sentence about failed packages, so that nobody has to compare counts: a run continues after them and ends as `done`. */
function failuresOf({ state, result }: Pick<TaskRow, 'state' | 'result'>, error: number): string | null {
  if (state !== 'done' || error === 0) return null
  const { done_count: all } = result as unknown as MirrorResult
  return `${error} of ${all} packages were not imported; the lines say why, and the next run tries them again`
}
