import { expect, test } from 'vitest'
import { createMetrics, type MetricSources } from './metrics.ts'

test('a scrape asks each source once, and what fails or hangs has no sample and hides no other', async () => {
  const asked: Record<string, number> = {}
  const errors: unknown[] = []
  const ask = async <T>(name: string, value: T) => {
    asked[name] = (asked[name] ?? 0) + 1
    return value
  }
  const sources: MetricSources = {
    // A database that is frozen.
    totals: () => new Promise(() => {}),
    antivirusUpdatedAt: () => Promise.reject(new Error('no daemon')),
    advisoriesAgeSeconds: async () => null,
    selfTests: () => [],
    drift: async () => ({ status: 'unknown', last_scan: null, age_seconds: null, findings: [] }),
    downloads: async () => [],
    uncaught: () => null,
    restarts: () => null,
    listeners: async () => [],
    probes: () => ask('probes', { critical: { pool: { ok: false } } }),
    room: () => ask('room', { pool: { freeBytes: 1, totalBytes: 2 } }),
    isLeader: () => true,
    clockOffsetMs: () => -1500,
    lastRuns: () => ask('lastRuns', [{ job: 'sync', failed: true, succeededAt: new Date(5000) }]),
    lastBackupAt: async () => null,
    isRedisUp: () => null,
    onError: (error) => errors.push(error),
  }
  const lines = (await createMetrics(sources).render()).split('\n')
  expect(lines).toEqual(
    expect.arrayContaining([
      'svc_probe_ok{group="critical",probe="pool"} 0',
      'svc_storage_free_bytes{place="pool"} 1',
      'svc_storage_size_bytes{place="pool"} 2',
      'svc_leader 1',
      'svc_clock_offset_seconds -1.5',
      'svc_job_failed{name="sync"} 1',
      'svc_job_last_success_seconds{name="sync"} 5',
    ]),
  )
  const absent = /^svc_(packages_total|clamav_last_update|redis_up|backup_last_success_seconds) /
  expect(lines.filter((line) => absent.test(line))).toEqual([])
  expect(asked).toEqual({ probes: 1, room: 1, lastRuns: 1 })
  expect(errors.map(String)).toEqual(expect.arrayContaining([expect.stringContaining('no daemon')]))
})
