// Metrics of the state of this process and of its dependencies: probes, disks, leadership, jobs, backups, Redis.
import type { Registry } from 'prom-client'
import { gaugesOf } from './gauges.ts'
import type { LastRun } from './last-runs.ts'
import type { Probe } from './probes.ts'
import type { DiskRoom } from '../../kernel/disks.ts'
import { createShared } from '../../kernel/shared.ts'

/** Read at each scrape. */
export interface StateSources {
  /** the probes of the health report, by group */
  probes(): Promise<Record<string, Record<string, Probe>>>
  room(): Promise<Record<string, DiskRoom>>
  isLeader(): boolean
  /** by how much the clock of this machine is ahead of the database's */
  clockOffsetMs(): number
  /** the last ended run of each scheduled job */
  lastRuns(): Promise<readonly LastRun[]>
  /** seconds since 1970; null when there is no backup */
  lastBackupAt(): Promise<number | null>
  /** null when none is configured */
  isRedisUp(): boolean | null
}

// Not `job`: Prometheus gives each series a label of that name.
export function addStateMetrics(registry: Registry, sources: StateSources): void {
  const gauge = gaugesOf(registry)
  // Two gauges share one reading.
  const room = createShared(sources.room)
  const lastRuns = createShared(sources.lastRuns)
  gauge('svc_probe_ok', '1 when a probe of /health passes', ['group', 'probe'], async (it) => {
    for (const [group, probes] of Object.entries(await sources.probes()))
      for (const [probe, { ok }] of Object.entries(probes)) it.set({ group, probe }, Number(ok))
  })
  gauge('svc_storage_free_bytes', 'Free bytes of the file system of a place', ['place'], async (it) => {
    for (const [place, { freeBytes }] of Object.entries(await room())) it.set({ place }, freeBytes)
  })
  gauge('svc_storage_size_bytes', 'Size of the file system of a place', ['place'], async (it) => {
    for (const [place, { totalBytes }] of Object.entries(await room())) it.set({ place }, totalBytes)
  })
  gauge('svc_leader', '1 in the replica that runs jobs and long work', [], (it) => it.set(Number(sources.isLeader())))
  gauge('svc_clock_offset_seconds', 'Seconds by which the clock is ahead of the database', [], (it) =>
    it.set(sources.clockOffsetMs() / 1000),
  )
  gauge('svc_redis_up', '1 when Redis answers; no sample where none is configured', [], (it) => {
    const isUp = sources.isRedisUp()
    if (isUp !== null) it.set(Number(isUp))
  })
  gauge('svc_job_failed', '1 when the last run of a scheduled job failed', ['name'], async (it) => {
    for (const { job, failed } of await lastRuns()) it.set({ name: job }, Number(failed))
  })
  gauge('svc_job_last_success_seconds', 'Unix time of the last good run of a job', ['name'], async (it) => {
    for (const { job, succeededAt } of await lastRuns())
      if (succeededAt !== null) it.set({ name: job }, succeededAt.getTime() / 1000)
  })
  gauge('svc_backup_last_success_seconds', 'Unix time of the newest backup', [], async (it) => {
    const at = await sources.lastBackupAt()
    if (at !== null) it.set(at)
  })
}
