// The list of scheduled jobs: when each runs and what it does.
import { dailyPattern, type Settings } from '../domain/settings.ts'
import type { MirrorRuns } from '../imports/mirror/start.ts'
import type { SyncRuns } from '../imports/sync-runs.ts'
import type { CrossCheck } from '../review/cross-check.ts'
import { systemActor } from '../review/deps.ts'
import type { Refresh } from '../review/refresh.ts'
import type { Review } from '../review/review.ts'
import type { ReviewTasks } from '../review/tasks.ts'
import type { Job } from './scheduler.ts'

export interface JobDeps {
  review: Review
  reviewTasks: ReviewTasks
  crossCheck: CrossCheck
  refresh: Refresh
  mirrorRuns: Pick<MirrorRuns, 'all'>
  syncRuns: Pick<SyncRuns, 'daily'>
  /** makes a backup and thins the archives out */
  backup(by: string): Promise<object>
  driftScan(): Promise<object>
  /** removes what is older than the settings keep */
  retention(by: string): Promise<object>
}

/** The schedule of a job whose section of the settings says when it runs. */
function daily({ enabled, timezone, ...time }: Settings['backup' | 'mirror' | 'sync']) {
  return enabled ? { pattern: dailyPattern(time), timezone } : null
}

export function createJobs(deps: JobDeps): Job[] {
  return [
    {
      id: 'sync',
      name: 'Read the catalogs of security sources',
      schedule: ({ sync }) => daily(sync),
      run: async () => ({ ...(await deps.syncRuns.daily()) }),
    },
    {
      id: 'backup',
      name: 'Make a backup and delete the oldest',
      schedule: ({ backup }) => daily(backup),
      run: async () => ({ ...(await deps.backup('scheduler')) }),
    },
    {
      id: 'retention_cleanup',
      name: 'Remove what is older than the settings keep',
      schedule: ({ sync }) => ({ pattern: '30 3 * * *', timezone: sync.timezone }),
      run: async () => ({ ...(await deps.retention('scheduler')) }),
    },
    {
      id: 'advisories',
      name: 'Update advisories that are older than a day',
      schedule: ({ validation, sync }) =>
        validation.grype_scan ? { pattern: '17 * * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await deps.reviewTasks.advisories({ force: false, createdBy: 'scheduler' })) }),
    },
    {
      id: 'exploited',
      name: 'Update exploit-prediction scores and known-exploited vulnerabilities that are older than a day',
      schedule: ({ cve_policy, sync }) =>
        cve_policy.auto_enrich && deps.refresh.hasLists ? { pattern: '7 * * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await deps.refresh.lists()) }),
    },
    {
      id: 'canaries',
      name: 'Run the self-test of the scanners',
      schedule: ({ sync }) => ({ pattern: '37 * * * *', timezone: sync.timezone }),
      run: deps.refresh.selfTest,
    },
    {
      id: 'second_scanner',
      name: 'Check published packages with further scanners',
      schedule: ({ validation, sync }) =>
        validation.grype_scan ? { pattern: '27 * * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await deps.crossCheck.catchUp()) }),
    },
    {
      id: 'cve_rematch',
      name: 'Match packages against changed advisories',
      schedule: ({ validation, sync }) =>
        validation.grype_scan ? { pattern: '30 2 * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await deps.reviewTasks.rematch('scheduler')) }),
    },
    {
      id: 'mirror',
      name: 'Import new packages of the mirrored sources',
      schedule: ({ mirror }) => daily(mirror),
      run: async () => ({ ...(await deps.mirrorRuns.all('scheduler')) }),
    },
    {
      id: 'drift_scan',
      name: 'Compare the database with the pool and the published trees',
      schedule: ({ sync }) => ({ pattern: '15 5 * * *', timezone: sync.timezone }),
      run: async () => ({ ...(await deps.driftScan()) }),
    },
    {
      id: 'sla_check_daily',
      name: 'End expired exceptions and mark overdue reviews',
      schedule: ({ sync }) => ({ pattern: '0 6 * * *', timezone: sync.timezone }),
      async run() {
        const { expired, expiring_soon, notified } = await deps.review.checkSla(systemActor('scheduler'))
        return { expired, expiring_soon, notified }
      },
    },
  ]
}
