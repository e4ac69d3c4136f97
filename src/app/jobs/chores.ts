// The background work of a running service: how often each chore runs and what it does.
import type { FactsWriter } from '../../accounts/readers/facts-writer.ts'
import type { DownloadReader } from '../../operations/downloads/reader.ts'
import type { Offered } from '../../formats/format.ts'
import type { Activity } from '../../operations/dashboard/activity.ts'
import type { PoolGrowth } from '../../operations/dashboard/pool-growth.ts'
import type { Installability } from '../../packages/installability/installability.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { createShared } from '../../kernel/shared.ts'
import type { Outbox } from '../../audit/notify/outbox.ts'
import type { BackgroundIndex } from '../../publish/background/background-index.ts'
import type { Publisher } from '../../publish/publisher.ts'
import type { History } from '../../packages/records/history.ts'
import type { PendingDeletions } from '../../packages/records/pending-deletions.ts'
import type { AuditCheckpoints } from '../../audit/checkpoints.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { HEARTBEAT_MS, type Staging } from '../../store/files/staging.ts'
import type { KeptAnswers } from '../../store/kept-answers.ts'
import type { Paths } from '../../store/paths.ts'
import type { Manifests } from '../../packages/records/manifests.ts'
import type { Rematch } from '../../review/rematch.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { createIndexQueue, QUIET_MS } from './background-indexes.ts'
import { createInstallabilityQueue } from './installability-checks.ts'
import { RENEW_MS, type Leader } from './leader.ts'

const MINUTE = 60_000
const NOTIFY_MS = 5_000
const AUDIT_MS = 15_000
/** How long a package that arrived while newer advisories were imported is judged by earlier ones. */
const BEHIND_MS = 10_000
/** A download is in the statistics this long after its end, plus the second that its log waits. */
const READ_LOGS_MS = 10_000
/** Changes of rights count within 10 s: this, one look of the listeners, and what a slow file system takes. */
const ACCESS_MS = 1_000
/** One piece of background work. It is idempotent: the next run repeats what a failed one left undone. */
export interface Chore {
  name: string
  everyMs: number
  /** false: every replica runs it, not only the leader */
  leaderOnly: boolean
  run(): Promise<unknown>
}

export interface ChoreDeps {
  db: Db
  clock: Clock
  paths: Paths
  log: Log
  leader: Leader
  keptAnswers: Pick<KeptAnswers, 'clean'>
  staging: Staging
  manifests: Manifests
  publisher: Publisher
  pendingDeletions: PendingDeletions
  history: History
  audit: AuditLog
  checkpoints: AuditCheckpoints
  active: readonly Offered[]
  outboxes: readonly Outbox[]
  backgroundIndexes: readonly Pick<BackgroundIndex, 'isDue'>[]
  installability: Pick<Installability, 'isDue'>
  /** reads the components of stored packages */
  componentScan: { catchUp(): Promise<unknown> }
  rematch: Pick<Rematch, 'behind'>
  activity: Pick<Activity, 'catchUp'>
  growth: Pick<PoolGrowth, 'sample'>
  downloadReader: DownloadReader
  /** what listeners know about access */
  factsWriter: Pick<FactsWriter, 'writeDue'>
  tasks: Pick<Tasks, 'enqueue' | 'deleteEnded'>
  stopping(): boolean
}

/** @returns the chores, and the two functions that also run at start */
export function createChores(deps: ChoreDeps): {
  /** chores that show other replicas that this process is alive, and whether it leads */
  signsOfLife: Chore[]
  chores: Chore[]
  recover(): Promise<void>
  collect(): Promise<void>
} {
  const { leader, log, staging, pendingDeletions, publisher, audit } = deps

  /** Each step is tried separately: a full disk that stops one step stops neither the others nor the start. */
  const recover = createShared(async () => {
    const steps: [string, () => Promise<unknown>][] = [
      ['uploads that were not acknowledged', staging.sweep],
      ['manifests', deps.manifests.catchUp],
      ['distributions', publishAgain],
      ['pending deletions', pendingDeletions.run],
      ['the audit log', audit.flush],
    ]
    for (const [what, step] of steps) {
      await step().catch((error: unknown) =>
        log.error({ err: error }, `recovery of ${what} failed; next try in a minute`),
      )
    }
  })

  async function publishAgain(): Promise<void> {
    const failed = await publisher.recover()
    if (failed.length > 0) log.warn({ distributions: failed }, 'could not be published; next try in a minute')
  }

  /** A new leader first cleans up after the previous one. */
  async function renewLease(): Promise<void> {
    const before = leader.isLeader()
    await leader.tick()
    if (!before && leader.isLeader()) void recover()
  }

  const notifications = deps.outboxes.map(({ name, deliver }): Chore => ({
    name: `notifications by ${name}`,
    everyMs: NOTIFY_MS,
    leaderOnly: true,
    run: () => deliver(() => !deps.stopping() && leader.isLeader()),
  }))
  const queueChecks = createInstallabilityQueue(deps)
  const queueIndexes = createIndexQueue({ ...deps, indexes: deps.backgroundIndexes })
  return {
    recover,
    collect: publisher.collect,
    signsOfLife: [
      { name: 'lease', everyMs: RENEW_MS, leaderOnly: false, run: renewLease },
      { name: 'heartbeat', everyMs: HEARTBEAT_MS, leaderOnly: false, run: staging.heartbeat },
    ],
    chores: [
      // Every process: listeners go on with the newest.
      { name: 'facts about access', everyMs: ACCESS_MS, leaderOnly: false, run: deps.factsWriter.writeDue },
      { name: 'audit log', everyMs: AUDIT_MS, leaderOnly: true, run: audit.flush },
      { name: 'audit checkpoint', everyMs: AUDIT_MS, leaderOnly: true, run: deps.checkpoints.writeWhenDue },
      ...notifications,
      { name: 'recovery', everyMs: MINUTE, leaderOnly: true, run: recover },
      { name: 'packages behind the advisories', everyMs: BEHIND_MS, leaderOnly: true, run: deps.rematch.behind },
      { name: 'components', everyMs: MINUTE, leaderOnly: true, run: deps.componentScan.catchUp },
      { name: 'background indexes', everyMs: QUIET_MS, leaderOnly: true, run: queueIndexes },
      { name: 'installability', everyMs: MINUTE, leaderOnly: true, run: queueChecks },
      { name: 'activity', everyMs: MINUTE, leaderOnly: true, run: deps.activity.catchUp },
      { name: 'pool growth', everyMs: 60 * MINUTE, leaderOnly: true, run: deps.growth.sample },
      // Runs in every process, because each may see the logs of another machine.
      {
        name: 'downloads',
        everyMs: READ_LOGS_MS,
        leaderOnly: false,
        run: () => deps.downloadReader.catchUp(deps.stopping),
      },
      { name: 'block cache', everyMs: MINUTE, leaderOnly: false, run: publisher.saveBlocks },
      { name: 'old generations', everyMs: MINUTE, leaderOnly: true, run: publisher.clean },
      { name: 'collection', everyMs: 60 * MINUTE, leaderOnly: true, run: publisher.collect },
      { name: 'ended tasks', everyMs: 60 * MINUTE, leaderOnly: true, run: deps.tasks.deleteEnded },
      { name: 'kept answers', everyMs: 60 * MINUTE, leaderOnly: true, run: deps.keptAnswers.clean },
      { name: 'history', everyMs: 60 * MINUTE, leaderOnly: true, run: deps.history.prune },
      { name: 'sweep of deleted files', everyMs: 60 * MINUTE, leaderOnly: true, run: pendingDeletions.sweep },
    ],
  }
}
