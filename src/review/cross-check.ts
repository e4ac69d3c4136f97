// Has published packages looked at by the scanners behind the first one. Never on the way of an upload; never takes anything away.
import { sql } from 'kysely'
import { Problem } from '../domain/problem.ts'
import type { Distribution, FormatId, PackageFacts } from '../domain/package.ts'
import type { CveResult, CveScanner } from '../scanners/scanner.ts'
import { applyFindings } from './apply.ts'
import { systemActor, type ReviewParts } from './parts.ts'

export interface CrossCheckReport {
  /** looks taken, one for each package and scanner */
  looked: number
  /** packages back in review */
  reopened: number
  /** looks that could not be taken; they are tried again in an hour */
  failed: number
}

export interface CrossCheckParts extends ReviewParts {
  /** all but the first */
  scanners: readonly CveScanner[]
  /** the distributions that are offered */
  distributions: readonly Distribution[]
  /** one process of several does it */
  mayWork(): boolean
  /** of the advisories that re-matches follow: what is applied last must be matched against the newest */
  generation(): Promise<number>
  /** from something published to the look at it */
  delayMs?: number
}

export interface CrossCheck {
  /** Something was published: looks soon. Never throws, nobody waits for it. */
  nudge(): void
  /** Looks at every published package that a scanner has not looked at yet; what a crash left too. */
  catchUp(): Promise<CrossCheckReport>
  /** Takes no further package, and waits for the one it is at. */
  stop(): Promise<void>
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
const RETRY_MS = 60 * 60_000
/** A scanner that fails so often in a row is down, and is left alone until the next time. */
const FAILURES = 3
const ATTEMPTS = 3

export function createCrossCheck(parts: CrossCheckParts): CrossCheck {
  const { db, clock } = parts
  let running: Promise<CrossCheckReport> | null = null
  let again = false
  let stopped = false
  let timer: NodeJS.Timeout | null = null

  /** Rows of this scanner, in the order they came in. Those that failed a while ago are asked again. */
  async function unchecked(scanner: CveScanner, after: number): Promise<Row[]> {
    const codenames = parts.distributions.map(({ codename }) => codename)
    const retry = new Date(clock.now().getTime() - RETRY_MS)
    const { rows } = await sql<Row>`select id, name, version, arch, distribution, format, source_package, source_version from packages p
      where status = 'published' and id > ${after} and distribution = any(${sql`${codenames}::text[]`})
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
      const { before, row: now } = await applyFindings(parts, row.id, { engine: scanner.name, findings: result.findings }, { mechanism: 'second_scanner' }, systemActor('system'))
      reopened ||= before.status === 'published' && now.status === 'pending_review'
      // A re-match that came between may have known more.
      if (attempt === ATTEMPTS || (await parts.generation()) === generation) return { word: 'scanned', reopened }
    }
  }

  async function lookAtAll(scanner: CveScanner, report: CrossCheckReport): Promise<void> {
    let failures = 0
    for (let after = 0; ; ) {
      const rows = await unchecked(scanner, after)
      for (const row of rows) {
        if (stopped || failures >= FAILURES || !parts.settings().validation.grype_scan) return
        try {
          const { word, reopened } = await look(scanner, row)
          // Noted after what it found: a crash in between costs a second look, which changes nothing.
          await note(row.id, scanner, word)
          report.looked++
          if (reopened) report.reopened++
          if (word === 'error') report.failed++
          failures = word === 'error' ? failures + 1 : 0
        } catch (error) {
          if (error instanceof Problem && error.code === 'not_found') continue
          failures++
          report.failed++
          parts.onError(error)
        }
      }
      if (rows.length < PAGE) return
      after = rows.at(-1)!.id
    }
  }

  async function run(): Promise<CrossCheckReport> {
    const report: CrossCheckReport = { looked: 0, reopened: 0, failed: 0 }
    if (!parts.mayWork()) return report
    do {
      again = false
      for (const scanner of parts.scanners) await lookAtAll(scanner, report)
    } while (again && !stopped)
    return report
  }

  function catchUp(): Promise<CrossCheckReport> {
    // What is published meanwhile may stand before where the running pass is.
    again = true
    return (running ??= run().finally(() => (running = null)))
  }

  return {
    catchUp,
    nudge() {
      if (parts.scanners.length === 0 || stopped) return
      if (running) again = true
      // Looking for work reads all of 100,000 records: not at each of many arrivals.
      else
        timer ??= setTimeout(() => {
          timer = null
          catchUp().catch(parts.onError)
        }, parts.delayMs ?? DELAY_MS).unref()
    },
    async stop() {
      stopped = true
      if (timer) clearTimeout(timer)
      await running?.catch(() => {})
    },
  }
}

/** What matching reads of the facts; the rest stays in the database. */
function factsOf(row: Row): PackageFacts {
  return {
    format: row.format, name: row.name, version: row.version, arch: row.arch, section: null, description: null, maintainer: null, license: null, url: null,
    sourcePackage: row.source_package, sourceVersion: row.source_version, installedSizeKb: null, requirements: [], provides: [], files: [], signatures: [], record: null,
  }
}
