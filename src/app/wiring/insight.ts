// Health report, metrics and dashboard.
import { countSeverities, type Severity } from '../../domain/finding.ts'
import { createActivity } from '../../operations/dashboard/activity.ts'
import { createDashboard } from '../../operations/dashboard/dashboard.ts'
import { createDirectorySizes } from '../../operations/monitoring/directory-sizes.ts'
import { createLiveFeed, LIVE_SIGNALS } from '../../operations/dashboard/live-feed.ts'
import { createTaskProgress } from '../../operations/dashboard/task-progress.ts'
import { SYNC } from '../../imports/sources.ts'
import { createLogTail } from '../../operations/logs/tail.ts'
import { newestAt } from '../../operations/backup/archives.ts'
import { roomOf } from '../../kernel/disks.ts'
import { lastRunsOf } from '../../operations/monitoring/last-runs.ts'
import { directoryOf } from '../../store/pglite/open.ts'
import { createHealth } from '../../operations/monitoring/health.ts'
import { createMetrics, type MetricSources } from '../../operations/monitoring/metrics.ts'
import { createPoolGrowth } from '../../operations/dashboard/pool-growth.ts'
import { readTotals } from '../../operations/dashboard/totals.ts'
import type { DownloadCounting } from './downloads.ts'
import type { Foundation } from './foundation.ts'
import type { Gate } from './gate.ts'
import type { LongWork } from './long-work.ts'
import type { Publishing } from './publishing.ts'
import type { Replicas } from './replicas.ts'

export type Insight = ReturnType<typeof createInsight>

/** @param notServing why the service takes no requests at the moment; null when it does */
export function createInsight(
  foundation: Foundation,
  { keys }: Publishing,
  { engines, vulnscan }: Gate,
  { scheduler, drift }: LongWork,
  replicas: Replicas,
  { downloads }: DownloadCounting,
  incidents: Pick<MetricSources, 'uncaught' | 'restarts' | 'listeners'>,
  notServing: () => 'starting' | 'draining' | null,
) {
  const { env, db, clock, log, bus, audit, paths, objectStore, staging, leader, database } = foundation
  const { antivirusStatus, advisoryData, canaries } = engines
  const selfTests = () => canaries.state().scopes
  const embedded = database.engine === 'pglite' ? directoryOf(env.databaseUrl) : null
  const places = {
    ...{ repos: paths.root, manifests: paths.manifests, audit: paths.audit },
    ...(objectStore ? {} : { pool: paths.pool }),
    ...(embedded === null ? {} : { database: embedded }),
  }
  const health = createHealth({
    places,
    sizes: createDirectorySizes({ clock }),
    db,
    clock,
    paths,
    objectStore,
    version: env.appVersion,
    startedAt: clock.now(),
    edition: env.edition,
    instanceId: staging.instanceId,
    fingerprint: () => keys.openpgp.fingerprint,
    clamavDbDir: env.clamavDbDir,
    grypeDbDir: env.grypeDbCacheDir,
    antivirus: antivirusStatus,
    vulnscan,
    isLeader: leader.isLeader,
    replicas: replicas.state,
    jobs: scheduler.state,
    drift: drift.state,
    clockOffsetMs: clock.offsetMs,
    selfTests,
    notServing,
  })
  const metrics = createMetrics({
    totals: () => readTotals(db),
    async antivirusUpdatedAt() {
      // Without a date in the signature database, its age is that of the file.
      const { db_date, db_updated_at } = await antivirusStatus()
      const date = db_date ?? db_updated_at
      return date === null ? null : Date.parse(date) / 1000
    },
    advisoriesAgeSeconds: advisoryData.ageSeconds,
    drift: drift.state,
    selfTests,
    downloads: downloads.everCounted,
    probes: async () => (await health.report()).checks,
    room: () => roomOf(places),
    isLeader: leader.isLeader,
    clockOffsetMs: clock.offsetMs,
    lastRuns: () =>
      lastRunsOf(
        db,
        scheduler.state().map(({ id }) => id),
      ),
    lastBackupAt: () => newestAt(env.backupDir),
    isRedisUp: replicas.isUp,
    onError: foundation.onError,
    ...incidents,
  })
  bus.on('published', (event) => {
    log.info(event, 'published')
    metrics.observePublish(event.milliseconds / 1000)
  })
  bus.on('intake', ({ status, findings }) => {
    metrics.countUpload(status)
    metrics.countFindings(countSeverities(findings as { severity: Severity }[]))
  })
  const activity = createActivity({ db, clock })
  const growth = createPoolGrowth({ db, clock })
  const dashboard = createDashboard({ db, clock, activity, growth, audit, antivirus: antivirusStatus })
  const feed = createLiveFeed({
    ...{ db, audit, onError: foundation.onError },
    tasks: createTaskProgress({ db, syncKind: SYNC }),
    health: health.report,
  })
  for (const signal of LIVE_SIGNALS) bus.on(signal, feed.wake)
  for (const topic of ['packages', 'task'] as const) replicas.events.on(topic, feed.wake)
  const logTail = createLogTail({ directory: env.accessLogDir, onError: foundation.onError })
  return { health, metrics, activity, growth, dashboard, feed, logTail }
}
