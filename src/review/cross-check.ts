// Scans published packages again with every scanner after the first. Runs after an upload, and never unpublishes.
import { sql, type RawBuilder } from 'kysely'
import { Problem } from '../domain/problem.ts'
import { untilAborted } from '../kernel/in-time.ts'
import type { Distribution, FormatId } from '../domain/package.ts'
import { seenBy } from '../gate/cve-scan.ts'
import type { CveResult, CveScanner } from '../gate/engines/scanner.ts'
import { applyFindings } from './apply.ts'
import { factsOf, systemActor, type ReviewDeps } from './deps.ts'

export interface CrossCheckReport {
  /** scans made, one per package and scanner */
  scanned: number
  /** packages that went back to review */
  reopened: number
  /** scans that failed; each is tried again after an hour */
  failed: number
}

export interface CrossCheckDeps extends ReviewDeps {
  /** all scanners but the first */
  scanners: readonly CveScanner[]
  /** the active distributions */
  distributions: readonly Distribution[]
  /** whether this process catches up; every process scans what it published itself */
  mayWork(): boolean
  /** the advisory generation in force */
  generation(): Promise<number>
  /** milliseconds between a publication and its scan */
  delayMs?: number
  /** milliseconds that a running scan may take when the service stops */
  graceMs?: number
}

export interface CrossCheck {
  /** Scans a published package soon, in the background. Never throws. */
  nudge(about: Published): void
  /**
   * Scans every published package that a scanner has not scanned yet, also after a crash.
   * @param signal stops it, like `stop`; the promise then rejects with its reason
   */
  catchUp(signal?: AbortSignal): Promise<CrossCheckReport>
  /** Stops after the current package. A scanner that does not answer gets some seconds. */
  stop(): Promise<void>
}

/** The keys of a bus event that name a published package. */
export interface Published {
  package: string
  version: string
  distribution: string
}

interface Row {
  id: number
  name: string
  version: string
  arch: string
  distribution: string
  format: FormatId
  source_package: string | null
  source_version: string | null
}

const PAGE = 100
const DELAY_MS = 2000
/** More publications than these wait for the next `catchUp`. */
const MOST_PENDING = 10_000
const RETRY_MS = 60 * 60_000
/** After so many failures in a row a scanner counts as down until the next run. */
const FAILURES = 3
const ATTEMPTS = 3
const GRACE_MS = 3000

export function createCrossCheck(deps: CrossCheckDeps): CrossCheck {
  const { db, clock } = deps
  /** published and not scanned yet */
  const pending = new Map<string, Published>()
  let everything = false
  let running: Promise<CrossCheckReport> | null = null
  const stopping = new AbortController()
  const { signal: stopped } = stopping
  let timer: NodeJS.Timeout | null = null

  /** Records this scanner has not scanned, or failed to scan an hour ago or earlier, by id. */
  async function unchecked(scanner: CveScanner, wanted: RawBuilder<unknown>): Promise<Row[]> {
    const codenames = deps.distributions.map(({ codename }) => codename)
    const retry = new Date(clock.now().getTime() - RETRY_MS)
    const { rows } =
      await sql<Row>`select id, name, version, arch, distribution, format, source_package, source_version from records p
      where status = 'published' and distribution = any(${sql`${codenames}::text[]`}) and ${wanted}
        and not exists (select 1 from cross_checks c where c.package_id = p.id and c.engine = ${scanner.name} and (c.word <> 'error' or c.checked_at > ${retry}))
      order by id limit ${PAGE}`.execute(db)
    return rows
  }

  async function note(id: number, scanner: CveScanner, result: CveResult['result']): Promise<void> {
    await sql`insert into cross_checks (package_id, engine, word, checked_at)
      select id, ${scanner.name}, ${result}, ${clock.now()} from packages where id = ${id}
      on conflict (package_id, engine) do update set word = excluded.word, checked_at = excluded.checked_at`.execute(db)
  }

  async function scanOne(scanner: CveScanner, row: Row): Promise<{ result: CveResult['result']; reopened: boolean }> {
    const distribution = deps.distributions.find(({ codename }) => codename === row.distribution)!
    let reopened = false
    for (let attempt = 1; ; attempt++) {
      const generation = await deps.generation()
      const scanned = scanner.scan({ facts: factsOf(row), distribution })
      const scan = await untilAborted(scanned, stopped, deps.graceMs ?? GRACE_MS)
      if (scan.result !== 'scanned') return { result: scan.result, reopened }
      const { before, row: now } = await applyFindings(
        deps,
        row.id,
        { engine: scanner.name, findings: scan.findings },
        { mechanism: 'second_scanner', kept: [seenBy(scan, clock.now(), 'second_scanner')] },
        systemActor('system'),
      )
      reopened ||= before.status === 'published' && now.status === 'pending_review'
      // A re-match in between may have used newer advisories.
      if (attempt === ATTEMPTS || (await deps.generation()) === generation) return { result: 'scanned', reopened }
    }
  }

  /** @returns whether the scanner can take more */
  async function scanEach(
    scanner: CveScanner,
    rows: readonly Row[],
    report: CrossCheckReport,
    failures: { inARow: number },
  ): Promise<boolean> {
    for (const row of rows) {
      if (stopped.aborted || failures.inARow >= FAILURES || !deps.settings().validation.grype_scan) return false
      try {
        const { result, reopened } = await scanOne(scanner, row)
        // Noted last: after a crash in between, the package is scanned again, which changes nothing.
        await note(row.id, scanner, result)
        report.scanned++
        if (reopened) report.reopened++
        if (result === 'error') report.failed++
        failures.inARow = result === 'error' ? failures.inARow + 1 : 0
      } catch (error) {
        if (error === stopped.reason) return false
        if (error instanceof Problem && error.code === 'not_found') continue
        failures.inARow++
        report.failed++
        deps.onError(error)
      }
    }
    return true
  }

  async function scanAll(scanner: CveScanner, report: CrossCheckReport): Promise<void> {
    const failures = { inARow: 0 }
    for (let after = 0; ;) {
      const rows = await unchecked(scanner, sql`id > ${after}`)
      if (!(await scanEach(scanner, rows, report, failures)) || rows.length < PAGE) return
      after = rows.at(-1)!.id
    }
  }

  /** When the scanner is down, packages that were not scanned here wait for the next `catchUp`. */
  async function scanPending(
    scanner: CveScanner,
    about: readonly Published[],
    report: CrossCheckReport,
  ): Promise<void> {
    const failures = { inARow: 0 }
    for (const one of about) {
      const rows = await unchecked(
        scanner,
        sql`distribution = ${one.distribution} and name = ${one.package} and version = ${one.version}`,
      )
      if (!(await scanEach(scanner, rows, report, failures))) return
    }
  }

  async function run(): Promise<CrossCheckReport> {
    const report: CrossCheckReport = { scanned: 0, reopened: 0, failed: 0 }
    while (!stopped.aborted && (everything || pending.size > 0)) {
      const all = everything && deps.mayWork()
      const about = [...pending.values()]
      everything = false
      pending.clear()
      for (const scanner of deps.scanners) await (all ? scanAll(scanner, report) : scanPending(scanner, about, report))
    }
    return report
  }

  const start = (): Promise<CrossCheckReport> =>
    (running ??= run().finally(() => {
      running = null
      // Published since the loop ended.
      if (!stopped.aborted && (everything || pending.size > 0)) startSoon()
    }))

  function startSoon(): void {
    timer ??= setTimeout(() => {
      timer = null
      start().catch(deps.onError)
    }, deps.delayMs ?? DELAY_MS).unref()
  }

  async function catchUp(signal?: AbortSignal): Promise<CrossCheckReport> {
    signal?.addEventListener('abort', halt, { once: true })
    everything = true
    try {
      return await start()
    } finally {
      signal?.removeEventListener('abort', halt)
      // An interrupted run has no result.
      signal?.throwIfAborted()
    }
  }

  function halt(): void {
    stopping.abort()
    if (timer) clearTimeout(timer)
  }

  return {
    catchUp,
    nudge(about) {
      if (deps.scanners.length === 0 || stopped.aborted) return
      if (pending.size < MOST_PENDING) pending.set(`${about.distribution} ${about.package} ${about.version}`, about)
      if (!running) startSoon()
    },
    async stop() {
      halt()
      await running?.catch(() => {})
    },
  }
}
