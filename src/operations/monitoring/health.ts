// The health report: every probe of the specification.
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { sql } from 'kysely'
import type { AntivirusStatus } from '../../gate/engines/scanner.ts'
import { isoTime, isoTimeOrNull, type Clock } from '../../kernel/clock.ts'
import { isShort, roomAt, roomOf } from '../../kernel/disks.ts'
import { inTime } from '../../kernel/in-time.ts'
import { createStallGuard } from '../../kernel/stall-guard.ts'
import { createShared } from '../../kernel/shared.ts'
import { clockFault } from '../../store/database-clock.ts'
import { schemaVersion, type Db } from '../../store/db.ts'
import { FORMATS } from '../../formats/index.ts'
import { countRecords } from '../../packages/records/counters.ts'
import type { ObjectStore } from '../../store/objects/object-store.ts'
import type { Paths } from '../../store/paths.ts'
import type { DirectorySizes } from './directory-sizes.ts'

export type Probe = { ok: boolean } & Record<string, unknown>
const CRITICAL = ['manifests', 'pool', 'auth_db', 'manifest_db'] as const

export interface HealthDeps {
  sizes: DirectorySizes
  /** what the service writes to, by name */
  places: Readonly<Record<string, string>>
  db: Db
  clock: Clock
  paths: Paths
  /** null when the pool is a directory */
  objectStore: ObjectStore | null
  version: string
  startedAt: Date
  edition: string
  instanceId: string
  fingerprint(): string
  clamavDbDir: string
  grypeDbDir: string
  antivirus(): Promise<AntivirusStatus>
  /** what each scanner was shown and whether it missed it */
  selfTests(): readonly { scanner: string; scope: string; failed: boolean }[]
  vulnscan(): Promise<{ ok: boolean; version: string | null; db_age_seconds: number | null }>
  isLeader(): boolean
  /** what the last drift scan found */
  drift(): Promise<DriftReport>
  /** by how much the clock of this machine is ahead of the database's */
  clockOffsetMs(): number
  /** where the state that replicas share is kept at the moment */
  replicas(): { jobState: Record<'scan' | 'install' | 'mirror' | 'sync' | 'sse' | 'logs', string>; cache: string }
  /** the scheduled jobs of this process */
  jobs(): { id: string; name: string; next_run: string | null; paused: boolean }[]
  /** why the service takes no requests at the moment; null when it does */
  notServing(): 'starting' | 'draining' | null
}

/** Callers that ask while the probes run share their next run, so that no flood of questions runs them side by side. */
export interface Health {
  report(): Promise<
    { status: 'healthy' | 'degraded' | 'unhealthy'; checks: Record<string, Record<string, Probe>> } & Record<
      string,
      unknown
    >
  >
  ready(): Promise<{ ready: boolean } & Record<string, unknown>>
}

/** Limit for one probe, so that one that hangs does not hang the report. */
const PROBE_MS = 5_000
/** Limit for a disk. One that hangs is not asked again until it has answered: each question keeps a thread. */
const DISK_MS = 4_000
/** Limit for the object store in the answer whether this replica is ready: load balancers wait a few seconds. */
const STORE_READY_MS = 1_000

export function createHealth(deps: HealthDeps): Health {
  const { db, clock, paths } = deps
  const guard = createStallGuard(paths.root, DISK_MS)
  const directory = (path: string) => guard(() => probeDirectory(path))

  const critical = {
    manifests: () => directory(paths.manifests),
    pool: () => (deps.objectStore ? reachable(deps.objectStore) : directory(paths.pool)),
    auth_db: () =>
      count(
        async () =>
          (
            await db
              .selectFrom('users')
              .select(sql<number>`count(*)::int`.as('n'))
              .executeTakeFirstOrThrow()
          ).n,
      ),
    manifest_db: () => count(() => countRecords(db)),
  }
  const nonCritical = {
    disk: async () => {
      const short = Object.entries(await guard(() => roomOf(deps.places))).filter(([, room]) => isShort(room))
      const names = short.map(([place]) => place)
      return {
        ok: short.length === 0,
        short: names,
        ...(names[0] ? { error: `little room: ${names.join(', ')}` } : {}),
      }
    },
    clock: async () => {
      const error = clockFault({ offsetMs: deps.clockOffsetMs })
      const offset_seconds = round(deps.clockOffsetMs() / 1000)
      return error === null ? { ok: true, offset_seconds } : { ok: false, offset_seconds, error }
    },
    audit: () => directory(paths.audit),
    antivirus: async () => {
      const status = await deps.antivirus()
      const failed = deps.selfTests().filter((one) => one.failed && one.scanner === 'clamav')
      if (failed.length > 0)
        return {
          ok: false,
          version: status.version,
          error: `does not find the EICAR test file in ${failed.map(({ scope }) => scope).join(', ')}`,
        }
      return status.available
        ? { ok: true, version: status.version, limits: status.limits ?? null, warning: status.warning ?? null }
        : { ok: false, version: null, error: status.error }
    },
    reprepro: async () => ({ ok: true, version: `gatehouse ${deps.version}` }),
    gpg: async () => ({ ok: true, fingerprint: deps.fingerprint() }),
    scheduler: async () => ({ ok: true, jobs: deps.isLeader() ? deps.jobs() : [] }),
    alembic: async () => {
      const version = await schemaVersion(db)
      return version === null ? { ok: false, version, error: 'no migration was applied' } : { ok: true, version }
    },
  }
  const info = {
    packages: () => packages(db),
    storage: () => storage(deps, () => guard(() => usage(paths.root))),
    license: async () => ({ ok: true, edition: deps.edition, active: true, issued_to: null }),
    setup: async () => {
      const admin = await db.selectFrom('users').select('id').where('role', '=', 'admin').limit(1).executeTakeFirst()
      return { ok: true, setup_done: admin !== undefined }
    },
    ha: async () => ({
      ok: true,
      is_leader: deps.isLeader(),
      instance_id: deps.instanceId,
      scheduler_active: deps.isLeader(),
      job_state_backend: deps.replicas().jobState,
    }),
    cache_backend: async () => ({ ok: true, backend: deps.replicas().cache }),
    vulnscan: () => deps.vulnscan(),
    drift: async () => driftProbe(await deps.drift()),
  }

  const report: Health['report'] = async () => {
    const [c, n, i] = await Promise.all([all(critical), all(nonCritical), all(info)])
    const passes = (group: Record<string, Probe>) => Object.values(group).every((probe) => probe.ok)
    return {
      status: !passes(c) ? 'unhealthy' : passes(n) ? 'healthy' : 'degraded',
      timestamp: isoTime(clock.now()),
      version: deps.version,
      uptime_seconds: Math.max(0, Math.floor((clock.now().getTime() - deps.startedAt.getTime()) / 1000)),
      checks: { critical: c, non_critical: n, info: i },
    }
  }

  const ready: Health['ready'] = async () => {
    const { objectStore } = deps
    const [probes, store] = await Promise.all([
      all(objectStore ? { ...critical, pool: async () => ({ ok: true }) } : critical),
      objectStore ? resultOf(() => reachable(objectStore), STORE_READY_MS) : null,
    ])
    const failing: string[] = CRITICAL.filter((name) => !probes[name]?.ok)
    const reason = deps.notServing()
    if (reason !== null) failing.push(reason)
    return {
      ready: failing.length === 0,
      timestamp: isoTime(clock.now()),
      checks: Object.fromEntries(CRITICAL.map((name) => [name, { ok: probes[name]?.ok ?? false }])),
      ...(failing.length > 0 ? { failing } : {}),
      // All replicas share it: without this one they would all leave their load balancer, with indexes and answers they have.
      ...(store?.ok === false ? { degraded: ['pool'] } : {}),
    }
  }

  return { report: createShared(report), ready: createShared(ready) }
}

async function all(probes: Record<string, () => Promise<Probe>>): Promise<Record<string, Probe>> {
  const entries = await Promise.all(
    Object.entries(probes).map(async ([name, probe]) => [name, await resultOf(probe)] as const),
  )
  return Object.fromEntries(entries)
}

async function resultOf(probe: () => Promise<Probe>, ms = PROBE_MS): Promise<Probe> {
  try {
    return await inTime(probe, ms)
  } catch (error) {
    return { ok: false, error: (error as Error).message }
  }
}

async function count(query: () => Promise<number>): Promise<Probe> {
  return { ok: true, count: await query() }
}

async function reachable(store: ObjectStore): Promise<Probe> {
  await store.check()
  return { ok: true, path: store.name }
}

async function probeDirectory(path: string): Promise<Probe> {
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
  return { ok: true, path, ...(await usage(path)) }
}

const GB = 1024 ** 3
const round = (value: number) => Math.round(value * 100) / 100

async function usage(path: string) {
  const { freeBytes, totalBytes } = await roomAt(path)
  return {
    free_gb: round(freeBytes / GB),
    total_gb: round(totalBytes / GB),
    used_pct: totalBytes === 0 ? 0 : round(((totalBytes - freeBytes) / totalBytes) * 100),
  }
}

export interface DriftReport {
  status: 'clean' | 'drift' | 'stale' | 'unknown'
  last_scan: Date | null
  age_seconds: number | null
  findings: readonly { area: string; fault: string; n: number }[]
}

/** Ok only when a recent scan found nothing. */
function driftProbe({ status, last_scan, age_seconds, findings }: DriftReport): Probe {
  const by_area: Record<string, number> = {}
  for (const { area, n } of findings) by_area[area] = (by_area[area] ?? 0) + n
  const total = findings.reduce((sum, { n }) => sum + n, 0)
  return { ok: status === 'clean', status, findings: total, by_area, last_scan: isoTimeOrNull(last_scan), age_seconds }
}

/** From the counters that each distribution's row keeps. */
async function packages(db: Db): Promise<Probe> {
  const rows = await db
    .selectFrom('distributions')
    .select([
      'format',
      sql<number>`sum(published_count + pending_count)::int`.as('files'),
      sql<number>`sum(size_bytes)::float8`.as('bytes'),
    ])
    .groupBy('format')
    .execute()
  const files = rows.reduce((sum, row) => sum + row.files, 0)
  return {
    ok: true,
    total_manifests: await countRecords(db),
    pool_files: files,
    pool_size_mb: round(rows.reduce((sum, row) => sum + row.bytes, 0) / 1024 ** 2),
    by_format: {
      ...Object.fromEntries(FORMATS.map((id) => [id, 0])),
      ...Object.fromEntries(rows.map((row) => [row.format, row.files])),
    },
  }
}

async function storage(deps: HealthDeps, room: () => ReturnType<typeof usage>): Promise<Probe> {
  const { paths, db } = deps
  const pool = await packages(db)
  const sizeMb = async (path: string) => {
    const bytes = await deps.sizes.bytesBelow(path)
    return bytes === null ? null : round(bytes / 1024 ** 2)
  }
  const dirs = {
    pool: { path: deps.objectStore?.name ?? paths.pool, size_mb: pool['pool_size_mb'] },
    manifests: { path: paths.manifests, size_mb: await sizeMb(paths.manifests) },
    audit: { path: paths.audit, size_mb: await sizeMb(paths.audit) },
    grype_db: { path: deps.grypeDbDir, size_mb: await sizeMb(deps.grypeDbDir) },
    clamav_db: { path: deps.clamavDbDir, size_mb: await sizeMb(deps.clamavDbDir) },
  }
  return { ok: true, ...(await room()), dirs }
}

/** Keys that an anonymous caller in production gets as null (docs/api-decisions.md, section 17). */
const PRIVATE = new Set(['path', 'error', 'fingerprint', 'issued_to', 'instance_id'])

export function withoutPrivate(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPrivate)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, PRIVATE.has(key) ? null : withoutPrivate(inner)]),
  )
}
