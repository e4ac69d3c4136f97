// /import: syncs of several sources, their jobs and schedule, and what security sources have newer.
import { dailyPattern, type Settings } from '../../domain/settings.ts'
import type { Caller } from '../../domain/caller.ts'
import type { Origin } from '../../domain/audit.ts'
import type { PackageFormat } from '../../formats/format.ts'
import { countUpdates, followDistributions, securityUpdates } from '../../imports/security-updates.ts'
import type { Sources } from '../../imports/sources.ts'
import { SYNC_RUN } from '../../imports/sync-run.ts'
import type { SyncRunRequest, SyncRuns } from '../../imports/sync-runs.ts'
import { isoTime, isoTimeOrNull, type Clock } from '../../kernel/clock.ts'
import { jobRoutes, type JobRouteDeps } from './job-routes.ts'
import { jobOf, jobTask } from './jobs.ts'
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
} from './sync.contract.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'

export interface ImportSyncDeps extends JobRouteDeps {
  formats: readonly PackageFormat[]
  sources: Sources
  syncRuns: SyncRuns
  clock: Clock
  settings(): Settings
}

const JOBS = {
  list: getImportSyncJobs,
  active: getImportSyncJobsActive,
  one: getImportSyncJobsId,
  stream: getImportSyncJobsIdStream,
  cancel: postImportSyncJobsIdCancel,
}

export function importSyncRoutes(deps: ImportSyncDeps): Route[] {
  const { db, sources } = deps

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
    ...jobRoutes(deps, SYNC_RUN, JOBS),
    handle(getImportSyncStatus, async () => {
      const all = await sources.all()
      return {
        sources: all.map((source) => ({
          source_id: source.id,
          label: source.name,
          last_sync: isoTimeOrNull(source.last_sync),
          pkg_count: source.pkg_count,
          left_out: source.left_out,
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
      await followDistributions(db, deps.formats, deps.clock.now())
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
        cron: dailyPattern({ hour, minute }),
        timezone,
        enabled,
        security_sources: all
          .filter((source) => source.security && sources.isEnabled(source))
          .map(({ id, name }) => ({ source_id: id, label: name })),
      }
    }),
    handle(getImportSecurityUpdates, async ({ query }) => {
      const { page: number, per_page: perPage, distribution } = query
      await followDistributions(db, deps.formats, deps.clock.now())
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
