// The probes of the health report, each with its time limit.
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { sql } from 'kysely'
import { isoTimeOrNull } from '../../kernel/clock.ts'
import { roomAt } from '../../kernel/disks.ts'
import { inTime } from '../../kernel/in-time.ts'
import type { Db } from '../../store/db.ts'
import { FORMATS } from '../../formats/index.ts'
import { countRecords } from '../../packages/records/counters.ts'
import type { ObjectStore } from '../../store/objects/object-store.ts'
import type { Paths } from '../../store/paths.ts'
import type { DirectorySizes } from './directory-sizes.ts'

export type Probe = { ok: boolean } & Record<string, unknown>

/** Limit for one probe, so that one that hangs does not hang the report. */
const PROBE_MS = 5_000

export async function all(probes: Record<string, () => Promise<Probe>>): Promise<Record<string, Probe>> {
  const entries = await Promise.all(
    Object.entries(probes).map(async ([name, probe]) => [name, await resultOf(probe)] as const),
  )
  return Object.fromEntries(entries)
}

export async function resultOf(probe: () => Promise<Probe>, ms = PROBE_MS): Promise<Probe> {
  try {
    return await inTime(probe, ms)
  } catch (error) {
    return { ok: false, error: (error as Error).message }
  }
}

export async function count(query: () => Promise<number>): Promise<Probe> {
  return { ok: true, count: await query() }
}

export async function reachable(store: ObjectStore): Promise<Probe> {
  await store.check()
  return { ok: true, path: store.name }
}

export async function probeDirectory(path: string): Promise<Probe> {
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
  return { ok: true, path, ...(await usage(path)) }
}

const GB = 1024 ** 3
export const round = (value: number) => Math.round(value * 100) / 100

export async function usage(path: string) {
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
export function driftProbe({ status, last_scan, age_seconds, findings }: DriftReport): Probe {
  const by_area: Record<string, number> = {}
  for (const { area, n } of findings) by_area[area] = (by_area[area] ?? 0) + n
  const total = findings.reduce((sum, { n }) => sum + n, 0)
  return { ok: status === 'clean', status, findings: total, by_area, last_scan: isoTimeOrNull(last_scan), age_seconds }
}

/** From the counters that each distribution's row keeps. */
export async function packages(db: Db): Promise<Probe> {
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

export interface StorageDeps {
  sizes: DirectorySizes
  db: Db
  paths: Paths
  /** null when the pool is a directory */
  objectStore: ObjectStore | null
  clamavDbDir: string
  grypeDbDir: string
}

export async function storage(deps: StorageDeps, room: () => ReturnType<typeof usage>): Promise<Probe> {
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
