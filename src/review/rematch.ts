// Matches stored packages against the advisories that changed; what did not change costs nothing.
import { sql, type RawBuilder } from 'kysely'
import { Problem } from '../domain/problem.ts'
import type { Distribution, PackageFacts } from '../domain/package.ts'
import { createShared } from '../kernel/shared.ts'
import { judged } from '../gate/cve-scan.ts'
import type { CveScanner } from '../scanners/scanner.ts'
import type { Db } from '../store/db.ts'
import { applyFindings, type Applied } from './apply.ts'
import type { ComponentScan } from './components.ts'
import { factsOf, systemActor, type ReviewDeps } from './deps.ts'

export interface RematchReport {
  /** packages whose advisories changed */
  matched: number
  /** of them with other findings than before */
  changed: number
  /** of them back in review */
  reopened: number
  failed: number
  milliseconds: number
}

/** What changed in the advisories since they were last matched. */
export interface AdvisoryNews {
  generation: number
  /** false: too much to tell, match everything */
  complete: boolean
  packages: { ecosystem: string; package: string | null }[]
}

export interface RematchParts extends ReviewDeps {
  scanner: CveScanner
  /** the distributions that are offered */
  distributions: readonly Distribution[]
  news: {
    /** the generation up to which packages were matched */
    seen(): Promise<number>
    since(generation: number): Promise<AdvisoryNews>
    note(generation: number): Promise<void>
  }
  /** whether advisories of that ecosystem tell of the distribution */
  covers(distribution: Distribution, ecosystem: string): boolean
  /** the libraries inside packages, which have advisories of their own */
  libraries: Pick<ComponentScan, 'touched' | 'about' | 'among' | 'unchanged' | 'match'>
}

type Row = {
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
/** Records whose libraries are matched together. */
const LIBRARIES = 100
/** Names in one question to the database. */
const NAMES = 1000

export interface Rematch {
  /**
   * Matches the packages whose advisories changed. One that cannot be matched today is tried again with the next run:
   * the generation is noted only after a run without failures. Callers that come while it runs share the next run, which
   * covers every advisory they know of.
   */
  changed(): Promise<RematchReport>
  /** Matches the packages that have this CVE among their findings. */
  about(cve: string): Promise<RematchReport>
}

export function createRematch(parts: RematchParts): Rematch {
  return {
    changed: createShared(() => rematch(parts)),
    async about(cve) {
      const report: RematchReport = { matched: 0, changed: 0, reopened: 0, failed: 0, milliseconds: 0 }
      for (const distribution of parts.distributions) {
        const having = sql`id in (select package_id from findings where cve = ${cve})`
        for await (const rows of pages(parts.db, distribution.codename, having)) {
          for (const row of rows) await matchOne(parts, distribution, row, report)
        }
      }
      await matchLibraries(parts, await parts.libraries.about(cve), report)
      return report
    },
  }
}

async function rematch(parts: RematchParts): Promise<RematchReport> {
  const started = performance.now()
  const report: RematchReport = { matched: 0, changed: 0, reopened: 0, failed: 0, milliseconds: 0 }
  const seen = await parts.news.seen()
  const news = await parts.news.since(seen)
  if (news.generation !== seen) {
    const withLibraries = new Set<number>()
    for (const distribution of parts.distributions) {
      for await (const rows of touched(parts, distribution, news)) {
        for (const row of rows) await matchOne(parts, distribution, row, report)
        // A distribution may say that a library it packs is mended.
        for (const id of await parts.libraries.among(rows.map((row) => row.id))) withLibraries.add(id)
      }
    }
    for (const id of await parts.libraries.touched(news)) withLibraries.add(id)
    await matchLibraries(parts, [...withLibraries], report)
    if (report.failed === 0) await parts.news.note(news.generation)
  }
  report.milliseconds = Math.round(performance.now() - started)
  return report
}

/** The records of a distribution that the news may be about, each once; some hundred at a time. */
async function* touched(parts: RematchParts, distribution: Distribution, news: AdvisoryNews): AsyncGenerator<Row[]> {
  const about = news.packages.filter((change) => parts.covers(distribution, change.ecosystem))
  if (!news.complete || about.some((change) => change.package === null)) {
    yield* pages(parts.db, distribution.codename, sql`true`)
    return
  }
  const names = [...new Set(about.flatMap((change) => change.package ?? []))]
  const told = new Set<number>()
  for (let at = 0; at < names.length; at += NAMES) {
    for await (const rows of pages(parts.db, distribution.codename, named(names.slice(at, at + NAMES)))) {
      const fresh = rows.filter((row) => !told.has(row.id))
      for (const row of fresh) told.add(row.id)
      yield fresh
    }
  }
}

/** Records that advisories about one of these names may be about; a signed kernel is looked up as `linux` too. */
function named(names: readonly string[]): RawBuilder<unknown> {
  const list = sql`${[...names]}::text[]`
  return sql`(name = any(${list}) or source_package = any(${list})${names.includes('linux') ? sql` or source_package like 'linux-signed%'` : sql``})`
}

async function* pages(db: Db, codename: string, wanted: RawBuilder<unknown>): AsyncGenerator<Row[]> {
  for (let after = 0; ;) {
    const { rows } =
      await sql<Row>`select id, name, version, arch, distribution, format, source_package, source_version, pipeline from packages
      where distribution = ${codename} and id > ${after} and status <> 'rejected' and ${wanted} order by id limit ${PAGE}`.execute(
        db,
      )
    yield rows
    if (rows.length < PAGE) return
    after = rows.at(-1)?.id ?? after
  }
}

async function matchOne(
  parts: RematchParts,
  distribution: Distribution,
  row: Row,
  report: RematchReport,
): Promise<void> {
  try {
    const result = await parts.scanner.scan({ facts: factsOf(row), distribution })
    if (result.word !== 'scanned') return
    report.matched++
    // What came in without advisories at hand is judged for the first time: the record tells so.
    const first = row.pipeline['cve_scan'] === 'no_data'
    const { verdict } = judged(result, parts.settings(), parts.clock.now())
    const applied = await applyFindings(
      parts,
      row.id,
      { engine: parts.scanner.name, findings: result.findings },
      { mechanism: 'rematch', ...(first ? { evidence: [{ key: 'cve_scan', verdict }] } : {}) },
      systemActor('scheduler'),
    )
    count(applied, report)
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return
    report.failed++
    parts.onError(error)
  }
}

async function matchLibraries(parts: RematchParts, ids: readonly number[], report: RematchReport): Promise<void> {
  for (let at = 0; at < ids.length; at += LIBRARIES) {
    const page = ids.slice(at, at + LIBRARIES)
    // A failure to look at many shows again, told apart, at each.
    const same = await parts.libraries.unchanged(page).catch(() => new Set<number>())
    report.matched += same.size
    for (const id of page) if (!same.has(id)) await matchInside(parts, id, report)
  }
}

async function matchInside(parts: RematchParts, id: number, report: RematchReport): Promise<void> {
  try {
    const applied = await parts.libraries.match(id, 'rematch', systemActor('scheduler'))
    if (!applied) return
    report.matched++
    count(applied, report)
  } catch (error) {
    report.failed++
    parts.onError(error)
  }
}

function count({ before, row, newIds, droppedIds }: Applied, report: RematchReport): void {
  if (newIds.length > 0 || droppedIds.length > 0) report.changed++
  if (before.status === 'published' && row.status === 'pending_review') report.reopened++
}
