// The health report over a real database and real directories.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { systemClock } from '../../kernel/clock.ts'
import type { Database } from '../../store/db.ts'
import { createMemoryStore } from '../../store/objects/memory-store.fixture.ts'
import { StorageUnavailable } from '../../store/objects/object-store.ts'
import { createPaths, ensurePaths, type Paths } from '../../store/paths.ts'
import { createDirectorySizes } from './directory-sizes.ts'
import { createHealth, type HealthDeps } from './health.ts'

let directory: string
let paths: Paths
let database: Database
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'health-'))
  paths = createPaths(directory)
  await ensurePaths(paths, [])
  database = await createTestDatabase()
})
afterAll(async () => {
  await database.close()
  await rm(directory, { recursive: true })
})

const health = (more: Partial<HealthDeps> = {}) =>
  createHealth({
    sizes: createDirectorySizes({ clock: systemClock }),
    db: database.db,
    clock: systemClock,
    paths,
    places: { repos: directory },
    objectStore: null,
    version: '1',
    startedAt: systemClock.now(),
    edition: 'community',
    instanceId: 'a',
    fingerprint: () => 'F',
    clamavDbDir: directory,
    grypeDbDir: directory,
    antivirus: () => Promise.reject(new Error('no daemon')),
    selfTests: () => [],
    vulnscan: async () => ({ ok: true, version: null, db_age_seconds: null }),
    isLeader: () => true,
    clockOffsetMs: () => 0,
    drift: async () => ({ status: 'unknown', last_scan: null, age_seconds: null, findings: [] }),
    replicas: () => ({
      jobState: { scan: 'local', install: 'local', mirror: 'local', sync: 'local', sse: 'redis', logs: 'local' },
      cache: 'memory',
    }),
    jobs: () => [],
    notServing: () => null,
    ...more,
  })

test('callers that ask at the same time share the run of the probes', async () => {
  let runs = 0
  const { report } = health({
    async antivirus() {
      runs++
      await new Promise((resolve) => setImmediate(resolve))
      throw new Error('no daemon')
    },
  })
  const first = report()
  const reports = await Promise.all([first, ...Array.from({ length: 500 }, report)])
  expect(runs).toBe(1)
  expect(new Set(reports.map(({ status }) => status))).toEqual(new Set(['degraded']))
  await report()
  expect(runs).toBe(2)
})

test('a probe that fails leaves the others standing', async () => {
  const { checks } = (await health().report()) as unknown as {
    checks: { critical: Record<string, { ok: boolean }>; non_critical: Record<string, { ok: boolean; error?: string }> }
  }
  expect(Object.values(checks.critical).map(({ ok }) => ok)).toEqual([true, true, true, true])
  expect(checks.non_critical['antivirus']).toEqual({ ok: false, error: 'no daemon' })
})

test.each(['starting', 'draining'] as const)('a service that is %s is not ready', async (reason) => {
  expect(await health({ notServing: () => reason }).ready()).toMatchObject({ ready: false, failing: [reason] })
})

test('a missing directory makes the service unhealthy and not ready', async () => {
  const gone = createPaths(join(directory, 'gone'))
  expect((await health({ paths: gone }).report()).status).toBe('unhealthy')
  expect(await health({ paths: gone }).ready()).toMatchObject({ ready: false, failing: ['manifests', 'pool'] })
})

test.each<[string, () => Promise<void>]>([
  ['is away', () => Promise.reject(new StorageUnavailable('the object store does not answer', false))],
  ['never answers', () => new Promise(() => {})],
])('an object store that %s makes the service unhealthy, and every replica stays ready', async (_, check) => {
  const { report, ready } = health({ objectStore: { ...createMemoryStore(), check } })
  expect(await ready()).toEqual({
    ...{ ready: true, timestamp: expect.any(String), degraded: ['pool'] },
    checks: expect.objectContaining({ pool: { ok: true }, auth_db: { ok: true } }),
  })
  expect(await report()).toMatchObject({ status: 'unhealthy', checks: { critical: { pool: { ok: false } } } })
})

test('a missing directory is no matter of the object store: the service is not ready', async () => {
  const objectStore = createMemoryStore()
  expect(await health({ objectStore }).ready()).not.toHaveProperty('degraded')
  const gone = createPaths(join(directory, 'gone'))
  expect(await health({ objectStore, paths: gone }).ready()).toMatchObject({ ready: false, failing: ['manifests'] })
})

test.each([
  [120_000, false, "the clock of this machine is 120 s ahead of the database's"],
  [-6_000, false, "the clock of this machine is 6 s behind the database's"],
  [1_250, true, undefined],
])('a clock that is off by %i ms: %s', async (ms, ok, error) => {
  const { checks } = await health({ clockOffsetMs: () => ms }).report()
  expect(checks['non_critical']?.['clock']).toEqual({ ok, offset_seconds: ms / 1000, ...(error ? { error } : {}) })
})
