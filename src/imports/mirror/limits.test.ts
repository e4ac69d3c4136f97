import { expect, test } from 'vitest'
import type { Settings } from '../../domain/settings.ts'
import { GIB } from '../room.ts'
import { createRunLimits } from './limits.ts'

const SETTINGS = { mirror: { max_packages_per_run: 10, max_runtime_minutes: 5, min_free_disk_gb: 2 } } as Settings
const MINUTE = 60_000

/** Limits of a run that began `minutes` ago. */
function limits({ minutes = 0, earlierMinutes = 0, packages = null as number | null, freeBytes = 3 * GIB } = {}) {
  let now = 0
  const clock = { now: () => new Date(now) }
  const deps = { clock, settings: () => SETTINGS, freeBytes: async () => freeBytes }
  const created = createRunLimits(deps, { elapsedMs: earlierMinutes * MINUTE, packages })
  now = minutes * MINUTE
  return created
}

test.each<[string, Parameters<typeof limits>[0], object, string | null]>([
  ['goes on within all limits', {}, { begun: 9 }, null],
  ['stops at the number of packages', {}, { begun: 10 }, 'max_packages_per_run'],
  ['stops at its own lower number', { packages: 3 }, { begun: 3 }, 'max_packages_per_run'],
  ['cannot raise the number', { packages: 30 }, { begun: 10 }, 'max_packages_per_run'],
  ['goes on before its time is over', { minutes: 4.9 }, {}, null],
  ['stops when its time is over', { minutes: 5 }, {}, 'max_runtime_minutes'],
  ['counts the time of earlier processes', { minutes: 2, earlierMinutes: 3 }, {}, 'max_runtime_minutes'],
  ['goes on while the package leaves enough space', {}, { sizeBytes: GIB }, null],
  ['stops when the package would not', {}, { sizeBytes: GIB + 1 }, 'min_free_disk_gb'],
  ['counts what is under way', {}, { sizeBytes: 1, bytesUnderWay: GIB }, 'min_free_disk_gb'],
])('a run %s', async (_, state, next, reason) => {
  expect(await limits(state).before({ begun: 0, sizeBytes: 0, bytesUnderWay: 0, ...next })).toBe(reason)
})
