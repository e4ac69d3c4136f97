// Health report, metrics and dashboard.
import { countSeverities, type Severity } from '../domain/finding.ts'
import { createActivity } from '../insight/activity.ts'
import { createDashboard } from '../insight/dashboard.ts'
import { createDirectorySizes } from '../insight/directory-sizes.ts'
import { createLiveFeed, LIVE_SIGNALS } from '../insight/live-feed.ts'
import { createTaskProgress } from '../insight/task-progress.ts'
import { SYNC } from '../imports/sources.ts'
import { createLogTail } from '../insight/log-tail.ts'
import { createHealth } from '../insight/health.ts'
import { createMetrics } from '../insight/metrics.ts'
import { createPoolGrowth } from '../insight/pool-growth.ts'
import { readTotals } from '../insight/totals.ts'
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
  notServing: () => 'starting' | 'draining' | null,
) {
  const { env, db, clock, log, bus, audit, paths, objectStore, staging, leader } = foundation
  const { antivirusStatus, advisoryData, canaries } = engines
  const selfTests = () => canaries.state().scopes
  const health = createHealth({
    sizes: createDirectorySizes({ clock }),
    db,
    clock,
    paths,
    objectStore,
    version: env.appVersion,
    startedAt: clock.now(),
    edition: env.edition,
    instanceId: staging.instanceId,
    fingerprint: keys.openpgp.fingerprint,
    clamavDbDir: env.clamavDbDir,
    grypeDbDir: env.grypeDbCacheDir,
    antivirus: antivirusStatus,
    vulnscan,
    isLeader: leader.isLeader,
    replicas: replicas.state,
    jobs: scheduler.state,
    drift: drift.state,
    selfTests,
    notServing,
  })
  const metrics = createMetrics({
    totals: () => readTotals(db),
    async antivirusUpdatedAt() {
      const { db_date: date } = await antivirusStatus()
      return date === null ? null : Date.parse(date) / 1000
    },
    advisoriesAgeSeconds: advisoryData.ageSeconds,
    drift: drift.state,
    selfTests,
    downloads: downloads.everCounted,
  })
  bus.on('published', (event) => log.info(event, 'published'))
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
