import { expect, test } from 'vitest'
import type { Settings } from '../../domain/settings.ts'
import { Cron } from 'croner'
import { createJobs, everyMinutes, type JobDeps } from './jobs.ts'

test.each<[string, boolean, boolean, string | null]>([
  ['runs every hour', true, true, '7 * * * *'],
  ['does not run in a closed network, where no list has an address', true, false, null],
  ['does not run when the policy takes no scores', false, true, null],
])('the update of exploit scores %s', (_, auto_enrich, hasLists, pattern) => {
  const job = createJobs({ refresh: { hasLists } } as JobDeps).find(({ id }) => id === 'exploited')
  const settings = { cve_policy: { auto_enrich }, sync: { timezone: 'UTC' } } as Settings
  expect(job?.schedule(settings)?.pattern ?? null).toBe(pattern)
})

test.each<[string, boolean, boolean, string | null]>([
  ['runs every hour', true, true, '17 * * * *'],
  ['does not run in a closed network, where neither an address nor a directory has any', true, false, null],
  ['does not run when nothing is scanned', false, true, null],
])('the update of advisories %s', (_, grype_scan, hasAdvisories, pattern) => {
  const job = createJobs({ refresh: { hasAdvisories } } as JobDeps).find(({ id }) => id === 'advisories')
  const settings = { validation: { grype_scan }, sync: { timezone: 'UTC' } } as Settings
  expect(job?.schedule(settings)?.pattern ?? null).toBe(pattern)
})

test.each([
  [5, 5],
  [45, 45],
  [60, 60],
  [130, 120],
  [1440, 1440],
])('an interval of %i minutes is a pattern that comes after %i at the latest', (minutes, most) => {
  const runs = new Cron(everyMinutes(minutes), { timezone: 'UTC' }).nextRuns(30)
  const gaps = runs.slice(1).map((run, n) => (run.getTime() - runs[n]!.getTime()) / 60_000)
  expect(Math.max(...gaps)).toBe(most)
})
