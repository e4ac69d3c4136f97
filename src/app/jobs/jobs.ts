// The list of scheduled jobs: when each runs and what it does.
import { dailyPattern, type Settings } from '../../domain/settings.ts'
import type { MirrorRuns } from '../../imports/mirror/start.ts'
import type { SyncRuns } from '../../imports/sync-runs.ts'
import type { CrossCheck } from '../../review/cross-check.ts'
import { systemActor } from '../../review/deps.ts'
import type { Refresh } from '../../review/refresh.ts'
import type { Review } from '../../review/review.ts'
import type { ReviewTasks } from '../../review/tasks.ts'
import type { Job } from './scheduler.ts'

export interface JobDeps {
  review: Review
  reviewTasks: ReviewTasks
  crossCheck: CrossCheck
  refresh: Refresh
  mirrorRuns: Pick<MirrorRuns, 'all'>
  syncRuns: Pick<SyncRuns, 'daily'>
  /** makes a backup and removes archives beyond those that the settings keep */
  backup(by: string): Promise<object>
  driftScan(): Promise<object>
  /** scans packages again that were held only because a scanner was missing */
  judgeAgain(): Promise<object>
  /** removes data older than the settings keep */
  retention(by: string): Promise<object>
  /** suspends accounts that the directory no longer has */
  compareWithDirectory(): Promise<object>
}

/** The schedule of a job whose section of the settings has its time. */
function daily({ enabled, timezone, ...time }: Settings['backup' | 'mirror' | 'sync']) {
  return enabled ? { pattern: dailyPattern(time), timezone } : null
}

/** The pattern for an interval: cron knows minutes of an hour and hours of a day. */
export function everyMinutes(minutes: number): string {
  if (minutes < 60) return `*/${minutes} * * * *`
  const hours = Math.round(minutes / 60)
  return hours < 24 ? `41 */${hours} * * *` : '41 3 * * *'
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
        validation.grype_scan && deps.refresh.hasAdvisories ? { pattern: '17 * * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await deps.reviewTasks.advisories({ force: false, createdBy: 'scheduler' })) }),
    },
    {
      id: 'exploited',
      name: 'Update exploit-prediction scores and known-exploited vulnerabilities that are older than a day',
      schedule: ({ cve_policy, sync }) =>
        cve_policy.auto_enrich && deps.refresh.hasLists ? { pattern: '7 * * * *', timezone: sync.timezone } : null,
      run: async (signal) => ({ ...(await deps.refresh.lists(undefined, false, signal)) }),
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
      run: async (signal) => ({ ...(await deps.crossCheck.catchUp(signal)) }),
    },
    {
      id: 'judge_again',
      name: 'Judge again what was held because a scanner was missing',
      // After the hourly self-test and the update of advisories, so that it uses their results.
      schedule: ({ sync }) => ({ pattern: '47 * * * *', timezone: sync.timezone }),
      run: async () => ({ ...(await deps.judgeAgain()) }),
    },
    {
      id: 'cve_rematch',
      name: 'Match packages against changed advisories',
      schedule: ({ validation, sync }) =>
        validation.grype_scan ? { pattern: '30 2 * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await deps.reviewTasks.rematch('scheduler')) }),
    },
    {
      id: 'directory_check',
      name: 'Compare accounts with the directory',
      schedule: ({ ldap, sync }) =>
        ldap.enabled ? { pattern: everyMinutes(ldap.check_minutes), timezone: sync.timezone } : null,
      run: async () => ({ ...(await deps.compareWithDirectory()) }),
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
      async run(signal) {
        const { expired, expiring_soon, notified } = await deps.review.checkSla(systemActor('scheduler'), signal)
        return { expired, expiring_soon, notified }
      },
    },
  ]
}
