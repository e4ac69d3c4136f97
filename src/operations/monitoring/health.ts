// The health report: every probe of the specification.
import { sql } from 'kysely'
import type { AntivirusStatus } from '../../gate/engines/scanner.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import { isShort, roomOf } from '../../kernel/disks.ts'
import { createStallGuard } from '../../kernel/stall-guard.ts'
import { createShared } from '../../kernel/shared.ts'
import { clockFault } from '../../store/database-clock.ts'
import { schemaVersion } from '../../store/db.ts'
import { countRecords } from '../../packages/records/counters.ts'
import {
  all,
  count,
  driftProbe,
  packages,
  probeDirectory,
  reachable,
  resultOf,
  round,
  storage,
  usage,
  type DriftReport,
  type Probe,
  type StorageDeps,
} from './probes.ts'

const CRITICAL = ['manifests', 'pool', 'auth_db', 'manifest_db'] as const

export interface HealthDeps extends StorageDeps {
  /** what the service writes to, by name */
  places: Readonly<Record<string, string>>
  clock: Clock
  version: string
  startedAt: Date
  edition: string
  instanceId: string
  fingerprint(): string
  antivirus(): Promise<AntivirusStatus>
  /** the self-tests of each scanner, and whether it failed them */
  selfTests(): readonly { scanner: string; scope: string; failed: boolean }[]
  vulnscan(): Promise<{ ok: boolean; version: string | null; db_age_seconds: number | null }>
  isLeader(): boolean
  /** the result of the last drift scan */
  drift(): Promise<DriftReport>
  /** by how much the clock of this machine is ahead of the database's */
  clockOffsetMs(): number
  /** where the state that replicas share is kept now */
  replicas(): { jobState: Record<'scan' | 'install' | 'mirror' | 'sync' | 'sse' | 'logs', string>; cache: string }
  /** the scheduled jobs of this process */
  jobs(): { id: string; name: string; next_run: string | null; paused: boolean }[]
  /** why the service accepts no requests now; null when it does */
  notServing(): 'starting' | 'draining' | null
}

/** Callers that arrive while the probes run share the next run, so that many callers do not cause parallel runs. */
export interface Health {
  report(): Promise<
    { status: 'healthy' | 'degraded' | 'unhealthy'; checks: Record<string, Record<string, Probe>> } & Record<
      string,
      unknown
    >
  >
  ready(): Promise<{ ready: boolean } & Record<string, unknown>>
}

/** Limit for a disk. One that hangs is not asked again until it has answered: each question keeps a thread. */
const DISK_MS = 4_000
/** Limit for the object store in the readiness answer of this replica: load balancers wait a few seconds. */
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
      // All replicas share the store: as a failure it would take all of them, with their indexes and answers, out of service.
      ...(store?.ok === false ? { degraded: ['pool'] } : {}),
    }
  }

  return { report: createShared(report), ready: createShared(ready) }
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
