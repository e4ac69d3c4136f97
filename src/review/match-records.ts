// Matches single records and their components against the advisories in force.
import { sql, type RawBuilder } from 'kysely'
import { Problem } from '../domain/problem.ts'
import type { Distribution, PackageFacts } from '../domain/package.ts'
import type { Seen } from '../domain/evidence.ts'
import { seenBy } from '../gate/cve-scan.ts'
import type { CveScanner } from '../gate/engines/scanner.ts'
import { lockIfThere } from '../packages/records/change-record.ts'
import { noteEvidence } from '../packages/records/evidence.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import { applyFindings, type Applied, type ApplyDeps } from './apply.ts'
import type { ComponentScan } from './components.ts'
import { factsOf, systemActor } from './deps.ts'

export interface RematchReport {
  /** packages whose advisories changed */
  matched: number
  /** of these, packages whose findings changed */
  changed: number
  /** of these, published packages that went to review */
  reopened: number
  failed: number
  milliseconds: number
}

/** The columns of a record that matching needs. */
export type MatchedRow = {
  id: number
  name: string
  version: string
  arch: string
  distribution: string
  format: PackageFacts['format']
  source_package: string | null
  source_version: string | null
  pipeline: Record<string, string>
}

const PAGE = 500
/** Records whose components are matched together. */
export const TOGETHER = 100

export interface MatchDeps extends ApplyDeps {
  scanner: CveScanner
  /** the active distributions, and the repositories of libraries */
  places(): Promise<readonly Distribution[]>
  /** the components inside packages, which have advisories of their own */
  components: Pick<ComponentScan, 'unchanged' | 'match'>
}

export const noReport = (): RematchReport => ({ matched: 0, changed: 0, reopened: 0, failed: 0, milliseconds: 0 })

/** Matches the records that a condition selects, in all distributions. */
export async function matchWhere(deps: MatchDeps, wanted: RawBuilder<unknown>, report: RematchReport): Promise<void> {
  for (const distribution of await deps.places())
    for await (const rows of pages(deps.db, distribution.codename, wanted))
      for (const row of rows) await matchOne(deps, distribution, row, report)
}

/** The records of a distribution that a condition selects, in pages. */
export async function* pages(
  db: Db,
  codename: string,
  wanted: RawBuilder<unknown>,
  from = 0,
): AsyncGenerator<MatchedRow[]> {
  for (let after = from; ;) {
    const { rows } =
      await sql<MatchedRow>`select id, name, version, arch, distribution, format, source_package, source_version, pipeline from records
      where distribution = ${codename} and id > ${after} and status <> 'rejected' and ${wanted} order by id limit ${PAGE}`.execute(
        db,
      )
    yield rows
    if (rows.length < PAGE) return
    after = rows.at(-1)?.id ?? after
  }
}

export async function matchOne(
  deps: MatchDeps,
  distribution: Distribution,
  row: MatchedRow,
  report: RematchReport,
): Promise<void> {
  // The record shows the verdict, because it was not judged before.
  const isFirst = row.pipeline['cve_scan'] === 'no_data'
  try {
    const result = await deps.scanner.scan({ facts: factsOf(row), distribution })
    const seen = seenBy(result, deps.clock.now())
    // The failure of a scanner says nothing about the package.
    if (result.result === 'error') return
    if (result.result !== 'scanned') {
      await keepEvidence(deps, row, seen)
      return
    }
    report.matched++
    const applied = await applyFindings(
      deps,
      row.id,
      { engine: deps.scanner.name, findings: result.findings },
      { mechanism: 'rematch', kept: [seen], ...(isFirst ? { evidence: [seen] } : {}) },
      systemActor('scheduler'),
    )
    count(applied, report)
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return
    report.failed++
    deps.onError(error)
  }
}

/** Stores evidence that does not change the record's verdicts. */
async function keepEvidence({ db, clock }: MatchDeps, row: MatchedRow, seen: Seen): Promise<void> {
  await transaction(db, async (tx) => {
    if (await lockIfThere(tx, row.id)) await noteEvidence(tx, row, [seen], clock.now())
  })
}

export async function matchComponents(
  deps: MatchDeps,
  ids: readonly number[],
  report: RematchReport,
  signal?: AbortSignal,
): Promise<void> {
  for (let at = 0; at < ids.length; at += TOGETHER) {
    const page = ids.slice(at, at + TOGETHER)
    // A failure here occurs again below, for the record that causes it.
    const same = await deps.components.unchanged(page).catch(() => new Set<number>())
    report.matched += same.size
    for (const id of page) {
      signal?.throwIfAborted()
      if (!same.has(id)) await matchComponentsOf(deps, id, report)
    }
  }
}

async function matchComponentsOf(deps: MatchDeps, id: number, report: RematchReport): Promise<void> {
  try {
    const applied = await deps.components.match(id, 'rematch', systemActor('scheduler'))
    if (!applied) return
    report.matched++
    count(applied, report)
  } catch (error) {
    report.failed++
    deps.onError(error)
  }
}

function count({ before, row, newIds, droppedIds }: Applied, report: RematchReport): void {
  if (newIds.length > 0 || droppedIds.length > 0) report.changed++
  if (before.status === 'published' && row.status === 'pending_review') report.reopened++
}
