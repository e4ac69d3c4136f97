// Metrics of the packages and of what watches them: scanners and the drift scan.
import type { Gauge, Registry } from 'prom-client'
import { DRIFT_AREAS } from '../../domain/drift.ts'
import { createShared } from '../../kernel/shared.ts'
import { gaugesOf } from './gauges.ts'
import type { DriftReport } from './probes.ts'

export interface Totals {
  packages: number
  pendingReview: number
  quarantined: number
}

/** Read at each scrape; null means unknown and gives no sample. */
export interface PackageSources {
  totals(): Promise<Totals>
  antivirusUpdatedAt(): Promise<number | null>
  advisoriesAgeSeconds(): Promise<number | null>
  /** the self-tests of each scanner, and whether it failed them */
  selfTests(): readonly { scanner: string; scope: string; failed: boolean }[]
  drift(): Promise<DriftReport>
}

export function addPackageMetrics(registry: Registry, sources: PackageSources): void {
  const gauge = gaugesOf(registry)
  // Three gauges share one query.
  const totals = createShared(sources.totals)
  const known = (ask: () => Promise<number | null>) => async (it: Gauge) => {
    const value = await ask()
    if (value !== null) it.set(value)
  }
  gauge('svc_packages_total', 'Packages in the pool', [], async (it) => it.set((await totals()).packages))
  gauge('svc_pending_review_total', 'Packages awaiting a decision', [], async (it) =>
    it.set((await totals()).pendingReview),
  )
  gauge('svc_quarantine_total', 'Packages in quarantine', [], async (it) => it.set((await totals()).quarantined))
  gauge(
    'svc_clamav_last_update',
    'Unix time of the last antivirus database update',
    [],
    known(sources.antivirusUpdatedAt),
  )
  gauge('svc_grype_db_age_seconds', 'Age of the vulnerability database', [], known(sources.advisoriesAgeSeconds))
  gauge(
    'svc_scanner_selftest_failed',
    '1 when a scanner failed its self-test: the EICAR test file in a format, a known vulnerability in a distribution',
    ['scanner', 'scope'],
    (it) => {
      for (const { scanner, scope, failed } of sources.selfTests()) it.set({ scanner, scope }, Number(failed))
    },
  )
  gauge(
    'svc_drift_findings',
    'Files that differ from what was stored; no sample before the first drift scan',
    ['area'],
    async (it) => {
      const { last_scan, findings } = await sources.drift()
      if (last_scan !== null) for (const area of DRIFT_AREAS) it.set({ area }, 0)
      for (const { area, n } of findings) it.inc({ area }, n)
    },
  )
  gauge(
    'svc_drift_scan_age_seconds',
    'Time since the end of the last complete drift scan',
    [],
    known(async () => (await sources.drift()).age_seconds),
  )
}
