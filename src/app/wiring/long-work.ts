// Long work: the tasks and their kinds, and the scheduler that queues them.
import { createJobs } from '../jobs/jobs.ts'
import { createScheduler } from '../jobs/scheduler.ts'
import { formats } from '../../formats/index.ts'
import { backgroundIndexesKind } from '../../publish/background/background-index.ts'
import { initializeKind } from '../../publish/initialize-task.ts'
import { signingKeyKind } from '../../publish/own-key.ts'
import { createContents } from '../../publish/background/contents.ts'
import { createUpdateinfo } from '../../publish/background/updateinfo.ts'
import { bulkImportKind } from '../../imports/bulk-import.ts'
import { groupDeleteKind } from '../../imports/groups.ts'
import { createMirrorRuns } from '../../imports/mirror/start.ts'
import { syncRunKind } from '../../imports/sync-run.ts'
import { createSyncRuns } from '../../imports/sync-runs.ts'
import { createInstallability } from '../../packages/installability/installability.ts'
import { migrateKind } from '../../packages/copies/migrate.ts'
import { signAgainKind } from '../../intake/sign-again.ts'
import { syncIndexKind } from '../../packages/records/reindex.ts'
import { JUDGE_AGAIN, judgeAgainKind } from '../../review/judge-again.ts'
import { advisoriesKind, createReviewTasks, feedsKind, rematchKind } from '../../review/tasks.ts'
import { endImport } from '../../store/advisories/import.ts'
import { createTotals } from '../../store/records/totals.ts'
import { BACKUP } from '../../operations/backup/backup-task.ts'
import { DRIFT_SCAN } from '../../operations/drift/scan.ts'
import { retentionRequest } from '../../operations/retention/retention.ts'
import { createTasks, type Tasks } from '../../tasks/tasks.ts'
import { createBackups } from './backup.ts'
import { createDrift } from './drift.ts'
import type { Foundation } from './foundation.ts'
import type { Gate } from './gate.ts'
import type { Imports } from './imports.ts'
import { createMirroring } from './mirror.ts'
import { createRetention, keptDaysOf } from './retention.ts'
import type { Accounts } from './accounts.ts'
import type { Publishing } from './publishing.ts'
import type { Replicas } from './replicas.ts'

export type LongWork = ReturnType<typeof createLongWork>

export function createLongWork(
  foundation: Foundation,
  publishing: Publishing,
  gate: Gate,
  imports: Imports,
  { events, live, cache }: Replicas,
  { membership }: Pick<Accounts, 'membership'>,
) {
  const { publisher, registry } = publishing
  const { env, db, clock, log, bus, audit, paths, pool, manifests, staging, checkpoint, leader } = foundation
  const { advisories, covers } = gate.engines
  const totals = createTotals({ clock, ttlSeconds: env.manifestCacheTtl, shared: cache })
  bus.on('package', totals.forget)
  events.on('packages', () => {
    totals.forgetHere()
    gate.componentScan.nudge()
  })
  const { isLeader } = leader
  const { instanceId, isDead } = staging
  const backgroundIndexes = [
    createContents({ db, paths, publisher }),
    createUpdateinfo({ db, paths, publisher, advisories, covers }),
  ]
  const installability = createInstallability({ db, clock, find: registry.find })
  const drift = createDrift(foundation, publishing, gate)
  const mirroring = createMirroring(foundation, publishing, gate, imports, () => tasks)
  const tasks: Tasks = createTasks({
    ...{ db, clock, log, instanceId, isDead, isLeader, checkpoint, events, live, keptDays: keptDaysOf(foundation) },
    kinds: [
      syncIndexKind({ db, manifests, pool, publisher, checkpoint, find: registry.place }, totals.forget),
      initializeKind(publishing),
      signingKeyKind(publishing.keys, publishing.signingKeyFiles),
      advisoriesKind({ ...gate, endDeadImport: () => endImport(db) }),
      feedsKind(gate.refresh),
      rematchKind(gate.rematch),
      judgeAgainKind(gate.reviewDeps),
      imports.syncKind,
      bulkImportKind({ db, importRequested: imports.importRequested }),
      groupDeleteKind({ db, audit, deleteIds: gate.deleteIds }),
      mirroring.kind,
      createBackups(foundation),
      ...drift.kinds,
      createRetention(foundation, publishing, gate, installability, () => tasks),
      syncRunKind({ db, audit, sources: imports.sources, tasks: () => tasks }),
      migrateKind({ ...gate.copying, manifests, publisher }),
      signAgainKind({
        ...foundation,
        publisher,
        signers: publishing.keys,
        formats,
        find: registry.find,
        newPath: staging.newPath,
      }),
      installability.kind,
      backgroundIndexesKind({ indexes: backgroundIndexes, find: registry.find }),
    ],
  })
  const reviewTasks = createReviewTasks(tasks)
  const mirrorRuns = createMirrorRuns({ db, mirrors: mirroring.mirrors, tasks })
  const syncRuns = createSyncRuns({ db, sources: imports.sources, tasks })
  const scheduler = createScheduler({
    ...{ db, clock, log, audit, isLeader },
    settings: foundation.settings.current,
    jobs: createJobs({
      ...{ ...gate, reviewTasks, mirrorRuns, syncRuns },
      backup: (by) => tasks.run({ kind: BACKUP, arguments: { by, thin_out: true }, createdBy: by }),
      judgeAgain: () => tasks.run({ kind: JUDGE_AGAIN, createdBy: 'scheduler' }),
      driftScan: () => tasks.run({ kind: DRIFT_SCAN, createdBy: 'scheduler' }),
      retention: (by) => tasks.run(retentionRequest({ by, dryRun: false })),
      compareWithDirectory: membership.compareAll,
    }),
  })
  return {
    tasks,
    reviewTasks,
    installability,
    drift,
    mirroring,
    mirrorRuns,
    syncRuns,
    backgroundIndexes,
    totals,
    scheduler,
  }
}
