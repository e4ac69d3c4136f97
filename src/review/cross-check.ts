// Has published packages looked at by the scanners behind the first one. Never on the way of an upload; never takes anything away.
import { sql, type RawBuilder } from 'kysely'
import { Problem } from '../domain/problem.ts'
import type { Distribution, FormatId } from '../domain/package.ts'
import type { CveResult, CveScanner } from '../scanners/scanner.ts'
import { applyFindings } from './apply.ts'
import { factsOf, systemActor, type ReviewDeps } from './deps.ts'

export interface CrossCheckReport {
  /** looks taken, one for each package and scanner */
  looked: number
  /** packages back in review */
  reopened: number
  /** looks that could not be taken; they are tried again in an hour */
  failed: number
}

export interface CrossCheckParts extends ReviewDeps {
  /** all but the first */
  scanners: readonly CveScanner[]
  /** the distributions that are offered */
  distributions: readonly Distribution[]
  /** one process of several catches up; what it is told of each looks at itself */
  mayWork(): boolean
  /** of the advisories that re-matches follow: what is applied last must be matched against the newest */
  generation(): Promise<number>
  /** from something published to the look at it */
  delayMs?: number
}

export interface CrossCheck {
  /** Something may have been published: looks at it soon. Never throws, nobody waits for it. */
  nudge(about: Published): void
  /** Looks at every published package that a scanner has not looked at yet; what a crash left too. */
  catchUp(): Promise<CrossCheckReport>
  /** Takes no further package, and waits for the one it is at. */
  stop(): Promise<void>
}

/** As much of a bus event as names what was published. */
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
/** More are left for the next time everything is looked at. */
const MOST_TOLD = 10_000
const RETRY_MS = 60 * 60_000
/** A scanner that fails so often in a row is down, and is left alone until the next time. */
const FAILURES = 3
const ATTEMPTS = 3

export function createCrossCheck(parts: CrossCheckParts): CrossCheck {
  const { db, clock } = parts
  /** told of and not looked at yet */
  const told = new Map<string, Published>()
  let everything = false
  let running: Promise<CrossCheckReport> | null = null
  let stopped = false
  let timer: NodeJS.Timeout | null = null

  /** Rows of this scanner, in the order they came in. Those that failed a while ago are asked again. */
  async function unchecked(scanner: CveScanner, wanted: RawBuilder<unknown>): Promise<Row[]> {
    const codenames = parts.distributions.map(({ codename }) => codename)
    const retry = new Date(clock.now().getTime() - RETRY_MS)
    const { rows } =
      await sql<Row>`select id, name, version, arch, distribution, format, source_package, source_version from packages p
      where status = 'published' and distribution = any(${sql`${codenames}::text[]`}) and ${wanted}
        and not exists (select 1 from cross_checks c where c.package_id = p.id and c.engine = ${scanner.name} and (c.word <> 'error' or c.checked_at > ${retry}))
      order by id limit ${PAGE}`.execute(db)
    return rows
  }

  async function note(id: number, scanner: CveScanner, word: CveResult['word']): Promise<void> {
    await sql`insert into cross_checks (package_id, engine, word, checked_at)
      select id, ${scanner.name}, ${word}, ${clock.now()} from packages where id = ${id}
      on conflict (package_id, engine) do update set word = excluded.word, checked_at = excluded.checked_at`.execute(db)
  }

  async function look(scanner: CveScanner, row: Row): Promise<{ word: CveResult['word']; reopened: boolean }> {
    const distribution = parts.distributions.find(({ codename }) => codename === row.distribution)!
    let reopened = false
    for (let attempt = 1; ; attempt++) {
      const generation = await parts.generation()
      const result = await scanner.scan({ facts: factsOf(row), distribution })
      if (result.word !== 'scanned') return { word: result.word, reopened }
      const { before, row: now } = await applyFindings(
        parts,
        row.id,
        { engine: scanner.name, findings: result.findings },
        { mechanism: 'second_scanner' },
        systemActor('system'),
      )
      reopened ||= before.status === 'published' && now.status === 'pending_review'
      // A re-match that came between may have known more.
      if (attempt === ATTEMPTS || (await parts.generation()) === generation) return { word: 'scanned', reopened }
    }
  }

  /** @returns whether the scanner may be asked for more */
  async function lookAtEach(
    scanner: CveScanner,
    rows: readonly Row[],
    report: CrossCheckReport,
    failures: { inARow: number },
  ): Promise<boolean> {
    for (const row of rows) {
      if (stopped || failures.inARow >= FAILURES || !parts.settings().validation.grype_scan) return false
      try {
        const { word, reopened } = await look(scanner, row)
        // Noted after what it found: a crash in between costs a second look, which changes nothing.
        await note(row.id, scanner, word)
        report.looked++
        if (reopened) report.reopened++
        if (word === 'error') report.failed++
        failures.inARow = word === 'error' ? failures.inARow + 1 : 0
      } catch (error) {
        if (error instanceof Problem && error.code === 'not_found') continue
        failures.inARow++
        report.failed++
        parts.onError(error)
      }
    }
    return true
  }

  async function lookAtAll(scanner: CveScanner, report: CrossCheckReport): Promise<void> {
    const failures = { inARow: 0 }
    for (let after = 0; ;) {
      const rows = await unchecked(scanner, sql`id > ${after}`)
      if (!(await lookAtEach(scanner, rows, report, failures)) || rows.length < PAGE) return
      after = rows.at(-1)!.id
    }
  }

  /** What is not looked at here, for the scanner is down, is left for the next time everything is looked at. */
  async function lookAtTold(scanner: CveScanner, about: readonly Published[], report: CrossCheckReport): Promise<void> {
    const failures = { inARow: 0 }
    for (const one of about) {
      const rows = await unchecked(
        scanner,
        sql`distribution = ${one.distribution} and name = ${one.package} and version = ${one.version}`,
      )
      if (!(await lookAtEach(scanner, rows, report, failures))) return
    }
  }

  async function run(): Promise<CrossCheckReport> {
    const report: CrossCheckReport = { looked: 0, reopened: 0, failed: 0 }
    while (!stopped && (everything || told.size > 0)) {
      const all = everything && parts.mayWork()
      const about = [...told.values()]
      everything = false
      told.clear()
      for (const scanner of parts.scanners)
        await (all ? lookAtAll(scanner, report) : lookAtTold(scanner, about, report))
    }
    return report
  }

  const start = (): Promise<CrossCheckReport> =>
    (running ??= run().finally(() => {
      running = null
      // Told of between the last look around and here.
      if (!stopped && (everything || told.size > 0)) startSoon()
    }))

  function startSoon(): void {
    timer ??= setTimeout(() => {
      timer = null
      start().catch(parts.onError)
    }, parts.delayMs ?? DELAY_MS).unref()
  }

  function catchUp(): Promise<CrossCheckReport> {
    everything = true
    return start()
  }

  return {
    catchUp,
    nudge(about) {
      if (parts.scanners.length === 0 || stopped) return
      if (told.size < MOST_TOLD) told.set(`${about.distribution} ${about.package} ${about.version}`, about)
      if (!running) startSoon()
    },
    async stop() {
      stopped = true
      if (timer) clearTimeout(timer)
      await running?.catch(() => {})
    },
  }
}
