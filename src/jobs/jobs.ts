// All scheduled jobs, one entry each: when they run and what they do.
import type { CrossCheck } from '../review/cross-check.ts'
import type { Rematch } from '../review/rematch.ts'
import { systemActor } from '../review/deps.ts'
import type { Refresh } from '../review/refresh.ts'
import type { Review } from '../review/review.ts'
import type { Job } from './scheduler.ts'

export interface JobParts {
  review: Review
  rematch: Rematch
  crossCheck: CrossCheck
  refresh: Refresh
}

export function createJobs(parts: JobParts): Job[] {
  return [
    {
      id: 'advisories',
      name: 'Read advisories that are older than a day',
      schedule: ({ validation, sync }) =>
        validation.grype_scan ? { pattern: '17 * * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await parts.refresh.advisories()) }),
    },
    {
      id: 'exploited',
      name: 'Read exploit-prediction scores and known-exploited vulnerabilities that are older than a day',
      schedule: ({ cve_policy, sync }) =>
        cve_policy.auto_enrich ? { pattern: '7 * * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await parts.refresh.lists()) }),
    },
    {
      id: 'canaries',
      name: 'Show the scanners what they must find',
      schedule: ({ sync }) => ({ pattern: '37 * * * *', timezone: sync.timezone }),
      run: parts.refresh.selfTest,
    },
    {
      id: 'second_scanner',
      name: 'Have published packages looked at by further scanners',
      schedule: ({ validation, sync }) =>
        validation.grype_scan ? { pattern: '27 * * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await parts.crossCheck.catchUp()) }),
    },
    {
      id: 'cve_rematch',
      name: 'Match packages against changed advisories',
      schedule: ({ validation, sync }) =>
        validation.grype_scan ? { pattern: '30 2 * * *', timezone: sync.timezone } : null,
      run: async () => ({ ...(await parts.rematch.changed()) }),
    },
    {
      id: 'sla_check_daily',
      name: 'End exceptions that ran out, note reviews that are overdue',
      schedule: ({ sync }) => ({ pattern: '0 6 * * *', timezone: sync.timezone }),
      async run() {
        const { expired, expiring_soon, notified } = await parts.review.checkSla(systemActor('scheduler'))
        return { expired, expiring_soon, notified }
      },
    },
  ]
}
