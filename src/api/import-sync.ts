// /import: syncs of several sources, their jobs and schedule, and what security sources have newer.
import type { Settings } from '../domain/settings.ts'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { isProblem } from '../domain/problem.ts'
import type { PackageFormat } from '../formats/format.ts'
import { countUpdates, securityUpdates } from '../imports/security-updates.ts'
import type { Sources } from '../imports/sources.ts'
import { SYNC_RUN } from '../imports/sync-run.ts'
import type { SyncRunRequest, SyncRuns } from '../imports/sync-runs.ts'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import { taskPage } from '../tasks/task-query.ts'
import type { Tasks } from '../tasks/tasks.ts'
import { jobOf, jobTask, streamJob } from './import-jobs.ts'
import {
  getImportSecurityUpdates,
  getImportStats,
  getImportSyncJobs,
  getImportSyncJobsActive,
  getImportSyncJobsId,
  getImportSyncJobsIdStream,
  getImportSyncSchedule,
  getImportSyncStatus,
  postImportSync,
  postImportSyncJobsIdCancel,
  postImportSyncSecurity,
  postImportSyncSource,
  postImportSyncStart,
  postImportSyncStartTarget,
} from './import-sync.contract.ts'
import { handle, type Route } from './route.ts'
import { page } from './schemas.ts'
import { createOpenStreams } from './sse.ts'
import type { TaskStreamDeps } from './task-stream.ts'
import { cancelTask } from './tasks.ts'

export interface ImportSyncDeps extends TaskStreamDeps {
  db: Db
  audit: Pick<AuditLog, 'record'>
  formats: readonly PackageFormat[]
  sources: Sources
  syncRuns: SyncRuns
  tasks: Pick<Tasks, 'follow' | 'cancel'>
  settings(): Settings
}

const JOBS_SHOWN = 100

export function importSyncRoutes(deps: ImportSyncDeps): Route[] {
  const { db, sources } = deps
  const openOne = createOpenStreams()

  async function start(request: SyncRunRequest, caller: Caller, origin: Origin) {
    const { id, joined } = await deps.syncRuns.start(request, caller.name, origin.requestId)
    const { job_id, label, status, total } = jobOf(await jobTask(db, SYNC_RUN, id))
    return { job_id, label, status, total, already_running: joined }
  }
  const typeOf = (target: string | undefined) => (target === 'all' ? undefined : target)
  const formatOf = (type: string) => deps.formats.find((one) => one.repoFormat === type)?.id ?? type

  return [
    handle(postImportSyncStart, async ({ body, caller, origin }) => {
      const { source_ids: ids, target, security_only: securityOnly } = body
      return start({ sourceIds: ids?.map(String), type: typeOf(target), securityOnly }, caller, origin)
    }),
    handle(postImportSync, async ({ caller, origin }) => start({}, caller, origin)),
    handle(postImportSyncSecurity, async ({ caller, origin }) => start({ securityOnly: true }, caller, origin)),
    handle(postImportSyncStartTarget, async ({ params, caller, origin }) =>
      start({ type: typeOf(params.target) }, caller, origin),
    ),
    handle(postImportSyncSource, async ({ params, caller, origin }) =>
      start({ sourceIds: [params.source] }, caller, origin),
    ),
    handle(getImportSyncJobs, async () => {
      const { items, total } = await taskPage(db, { kind: SYNC_RUN }, { page: 1, perPage: JOBS_SHOWN })
      return { jobs: items.map((task) => jobOf(task)), total }
    }),
    handle(getImportSyncJobsActive, async () => {
      // A run does not begin before the one before it has ended.
      const { items } = await taskPage(db, { kind: SYNC_RUN }, { page: 1, perPage: 2 })
      const jobs = items.map((task) => jobOf(task)).filter(({ status }) => status === 'running')
      return { jobs, total: jobs.length }
    }),
    handle(getImportSyncJobsId, async ({ params }) => jobOf(await jobTask(db, SYNC_RUN, params.id))),
    handle(getImportSyncJobsIdStream, async ({ params, query, caller, raw, reply }) => {
      const task = await jobTask(db, SYNC_RUN, params.id)
      const closed = openOne(caller.principal)
      const { access } = getImportSyncJobsIdStream
      await streamJob(deps, task, { fromIndex: query.from_index, access }, raw, reply).finally(closed)
      return undefined
    }),
    handle(postImportSyncJobsIdCancel, async ({ params, caller, origin }) => {
      const { id } = await jobTask(db, SYNC_RUN, params.id)
      return cancelJob(deps, SYNC_RUN, id, caller, origin)
    }),
    handle(getImportSyncStatus, async () => {
      const all = await sources.all()
      return {
        sources: all.map((source) => ({
          source_id: source.id,
          label: source.name,
          last_sync: isoTimeOrNull(source.last_sync),
          pkg_count: source.pkg_count,
          status: source.status,
          error: source.error,
          security: source.security,
          enabled: sources.isEnabled(source),
          format: formatOf(source.type),
        })),
        total: all.length,
      }
    }),
    handle(getImportStats, async () => {
      const all = await sources.all()
      const counts = (some: typeof all) => ({
        sources: some.length,
        synced: some.filter(({ last_sync: last }) => last !== null).length,
        packages: some.reduce((sum, source) => sum + source.pkg_count, 0),
      })
      const synced = all.flatMap(({ last_sync: last }) => last ?? []).sort((a, b) => a.getTime() - b.getTime())
      const formats = deps.formats.filter((one) => all.some(({ type }) => type === one.repoFormat))
      return {
        ...counts(all),
        enabled: all.filter(sources.isEnabled).length,
        failing: all.filter(({ status }) => status === 'error').length,
        security_updates: await countUpdates(db),
        last_sync: isoTimeOrNull(synced.at(-1) ?? null),
        formats: Object.fromEntries(
          formats.map((one) => [one.id, counts(all.filter(({ type }) => type === one.repoFormat))]),
        ),
      }
    }),
    handle(getImportSyncSchedule, async () => {
      const { enabled, hour, minute, timezone } = deps.settings().sync
      const all = await sources.all()
      const two = (n: number) => String(n).padStart(2, '0')
      return {
        schedule: `daily at ${two(hour)}:${two(minute)} (${timezone})`,
        cron: `${minute} ${hour} * * *`,
        timezone,
        enabled,
        security_sources: all
          .filter((source) => source.security && sources.isEnabled(source))
          .map(({ id, name }) => ({ source_id: id, label: name })),
      }
    }),
    handle(getImportSecurityUpdates, async ({ query }) => {
      const { page: number, per_page: perPage, distribution } = query
      const { items, total } = await securityUpdates(db, distribution, { page: number, perPage })
      return page(
        items.map(({ newer, source_id: id, source, path: _path, found_at, ...rest }) => ({
          ...rest,
          newer_version: newer,
          source: { id, name: source },
          found_at: isoTime(found_at),
        })),
        total,
        query,
      )
    }),
  ]
}

/** Cancelling a job that has ended changes nothing and is no error. */
export async function cancelJob(
  deps: Pick<ImportSyncDeps, 'audit' | 'db'> & { tasks: Pick<Tasks, 'cancel'> },
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
