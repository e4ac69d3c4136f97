import { expect, test } from 'vitest'
import type { Settings } from '../domain/settings.ts'
import { createJobs, type JobDeps } from './jobs.ts'

test.each<[string, boolean, boolean, string | null]>([
  ['runs every hour', true, true, '7 * * * *'],
  ['does not run in a closed network, where no list has an address', true, false, null],
  ['does not run when the policy takes no scores', false, true, null],
])('the update of exploit scores %s', (_, auto_enrich, hasLists, pattern) => {
  const job = createJobs({ refresh: { hasLists } } as JobDeps).find(({ id }) => id === 'exploited')
  const settings = { cve_policy: { auto_enrich }, sync: { timezone: 'UTC' } } as Settings
  expect(job?.schedule(settings)?.pattern ?? null).toBe(pattern)
})
