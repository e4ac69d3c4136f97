// Matches stored packages against the advisories that changed; other packages cost nothing.
import { sql, type RawBuilder } from 'kysely'
import { Problem } from '../domain/problem.ts'
import type { Distribution, PackageFacts } from '../domain/package.ts'
import type { TaskProgress } from '../domain/tasks.ts'
import type { Evidence, Found, Seen } from '../domain/evidence.ts'
import type { Finding } from '../domain/finding.ts'
import { seenBy } from '../gate/cve-scan.ts'
import { isoTime } from '../kernel/clock.ts'
import type { CveScanner } from '../gate/engines/scanner.ts'
import type { Db } from '../store/db.ts'
import { lockIfThere } from '../packages/records/change-record.ts'
import { noteEvidence } from '../packages/records/evidence.ts'
import { transaction } from '../store/transaction.ts'
import { applyFindings, type Applied, type ApplyDeps } from './apply.ts'
import type { ComponentScan } from './components.ts'
import { factsOf, systemActor } from './deps.ts'
import { mergeFindings } from './merge.ts'
import type { PackageRow } from '../store/tables.ts'

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

/** What changed in the advisories since packages were last matched against them. */
export interface AdvisoryNews {
  generation: number
  /** false when too much changed to list: every package is matched */
  complete: boolean
  packages: { ecosystem: string; package: string | null }[]
}

export interface RematchDeps extends ApplyDeps {
  scanner: CveScanner
  /** the active distributions */
  distributions: readonly Distribution[]
  news: {
    /** the generation that packages were last matched against */
    seen(): Promise<number>
    /** the generation in force */
    current(): Promise<number>
    since(generation: number): Promise<AdvisoryNews>
    note(generation: number): Promise<void>
  }
  /** whether advisories of that ecosystem apply to the distribution */
  covers(distribution: Distribution, ecosystem: string): boolean
  /** the components inside packages, which have advisories of their own */
  components: Pick<ComponentScan, 'touched' | 'about' | 'among' | 'unchanged' | 'match'>
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
/** Records whose components are matched together. */
const TOGETHER = 100
/** Names per query. */
const NAMES = 1000

export interface Rematch {
  /**
   * Matches the packages whose advisories changed. If one cannot be matched, the next run matches all of them again: the
   * generation is stored only after a run without failures. An interrupted run continues from its cursor. The task ensures
   * that only one run is active.
   */
  changed(context: TaskProgress): Promise<RematchReport>
  /** Whether advisories changed since the last complete run, and since the last run of this process. */
  isDue(): Promise<boolean>
  /** Matches the packages that have this CVE among their findings. */
  about(cve: string): Promise<RematchReport>
  /** Matches the records that were being stored while newer advisories came into force (`packages/records/evidence`). */
  behind(): Promise<RematchReport>
  /** The evidence about a published record in the distribution it is copied to. The current policy judges all of it. */
  evidenceThere(source: PackageRow, target: Distribution): Promise<Evidence>
}

const noReport = (): RematchReport => ({ matched: 0, changed: 0, reopened: 0, failed: 0, milliseconds: 0 })

export function createRematch(deps: RematchDeps): Rematch {
  /** the generation that this process matched last, perhaps with failures */
  let tried: number | null = null
  return {
    async changed(context) {
      const { report, generation } = await rematch(deps, context)
      tried = generation
      return report
    },
    async isDue() {
      const current = await deps.news.current()
      return current !== tried && current !== (await deps.news.seen())
    },
    async about(cve) {
      const report = noReport()
      await matchWhere(deps, sql`id in (select package_id from findings where cve = ${cve})`, report)
      await matchComponents(deps, await deps.components.about(cve), report)
      return report
    },
    async behind() {
      const report = noReport()
      const behind = sql`select package_id from evidence where behind and replaced_at is null`
      // Nearly always one lookup in an empty index.
      const { rows } = await behind.execute(deps.db)
      if (rows.length > 0) await matchWhere(deps, sql`id in (${behind})`, report)
      return report
    },
    evidenceThere: (source, target) => evidenceFor(deps, source, target),
  }
}

async function evidenceFor(deps: RematchDeps, source: PackageRow, distribution: Distribution): Promise<Evidence> {
  // As at an upload: a scan that is switched off holds nothing.
  if (!deps.settings().validation.grype_scan) return { checks: [] }
  const now = deps.clock.now()
  const known = (source.cve_results ?? []) as Finding[]
  const scan = await deps.scanner.scan({ facts: factsOf(source), distribution })
  const isScanned = scan.result === 'scanned'
  const seen = { engine: deps.scanner.name, findings: scan.findings }
  const all = isScanned ? mergeFindings(known, seen, deps.engines, isoTime(now)) : known
  const findings = all.map(({ action: _, ...found }): Found => found)
  if (isScanned) return { checks: [seenBy(scan, now)], findings }
  return { checks: [], ...(source.cve_results ? { findings } : {}) }
}

/** Matches the records that a condition selects, in all distributions. */
async function matchWhere(deps: RematchDeps, wanted: RawBuilder<unknown>, report: RematchReport): Promise<void> {
  for (const distribution of deps.distributions)
    for await (const rows of pages(deps.db, distribution.codename, wanted))
      for (const row of rows) await matchOne(deps, distribution, row, report)
}

/** Where a run continues after its process died. Only valid while the advisories are the same as at its start. */
interface Cursor {
  seen: number
  generation: number
  /** codenames of the distributions that are matched */
  done: string[]
  /** the distribution being matched; null before the first */
  distribution: string | null
  /** the names being matched: position of the first one in the sorted list */
  names: number
  /** the last record of these names that was matched */
  after: number
  /** the last record that was matched because of its components alone */
  componentsAfter: number
  report: RematchReport
}

async function rematch(
  deps: RematchDeps,
  context: TaskProgress,
): Promise<{ report: RematchReport; generation: number }> {
  const started = performance.now()
  const seen = await deps.news.seen()
  const news = await deps.news.since(seen)
  const cursor = cursorOf(context, seen, news.generation)
  const { report } = cursor
  const spent = report.milliseconds
  const timed = () => {
    report.milliseconds = spent + Math.round(performance.now() - started)
  }
  const save = async (at: Partial<Cursor>) => {
    timed()
    await context.save({ ...Object.assign(cursor, at) })
  }
  if (news.generation === seen) return { report, generation: seen }
  if (cursor.distribution === null)
    context.line(`matching against the advisories of generation ${news.generation}; the last was ${seen}`)

  const withComponents = new Set<number>()
  for (const distribution of deps.distributions) {
    const { codename } = distribution
    if (cursor.done.includes(codename)) continue
    const from =
      cursor.distribution === codename ? { names: cursor.names, after: cursor.after } : { names: 0, after: 0 }
    for await (const { rows, next } of touched(deps, distribution, news, from)) {
      for (const row of rows) {
        context.signal.throwIfAborted()
        await matchOne(deps, distribution, row, report)
      }
      // The distribution's own advisories may say that a component it ships is fixed.
      const ids = await deps.components.among(rows.map((row) => row.id))
      await matchComponents(deps, ids, report, context.signal)
      for (const id of ids) withComponents.add(id)
      await save({ distribution: codename, ...next })
    }
    await save({ done: [...cursor.done, codename] })
    context.line(`${codename} is matched; so far ${report.matched} packages, ${report.changed} of them changed`)
  }

  const ids = (await deps.components.touched(news)).filter(
    (id) => id > cursor.componentsAfter && !withComponents.has(id),
  )
  for (let at = 0; at < ids.length; at += TOGETHER) {
    const page = ids.slice(at, at + TOGETHER)
    await matchComponents(deps, page, report, context.signal)
    await save({ componentsAfter: page.at(-1)! })
  }
  if (report.failed === 0) await deps.news.note(news.generation)
  else context.line(`${report.failed} packages could not be matched; the next run matches all of them again`)
  timed()
  return { report, generation: news.generation }
}

function cursorOf({ cursor }: TaskProgress, seen: number, generation: number): Cursor {
  const saved = cursor as Cursor | null
  if (saved?.seen === seen && saved.generation === generation) return structuredClone(saved)
  const report = noReport()
  return { seen, generation, done: [], distribution: null, names: 0, after: 0, componentsAfter: 0, report }
}

/** Pages of the distribution's records that the changes may concern, each record once, from the cursor on. */
async function* touched(
  deps: RematchDeps,
  distribution: Distribution,
  news: AdvisoryNews,
  from: Pick<Cursor, 'names' | 'after'>,
): AsyncGenerator<{ rows: Row[]; next: Pick<Cursor, 'names' | 'after'> }> {
  let { names: at, after } = from
  const about = news.packages.filter((change) => deps.covers(distribution, change.ecosystem))
  if (!news.complete || about.some((change) => change.package === null)) {
    for await (const rows of pages(deps.db, distribution.codename, sql`true`, after))
      yield { rows, next: { names: 0, after: rows.at(-1)?.id ?? after } }
    return
  }
  const names = [...new Set(about.flatMap((change) => change.package ?? []))].sort()
  const matched = new Set<number>()
  for (; at < names.length; at += NAMES, after = 0) {
    for await (const rows of pages(deps.db, distribution.codename, named(names.slice(at, at + NAMES)), after)) {
      const fresh = rows.filter((row) => !matched.has(row.id))
      for (const row of fresh) matched.add(row.id)
      after = rows.at(-1)?.id ?? after
      yield { rows: fresh, next: { names: at, after } }
    }
  }
}

/** Records that advisories for these names may concern. A signed kernel's source package is also matched as `linux`. */
function named(names: readonly string[]): RawBuilder<unknown> {
  const list = sql`${[...names]}::text[]`
  // Through the digests: an `or` over two tables would read every record.
  const built = sql`select sha256 from blobs where source_package = any(${list})${names.includes('linux') ? sql` or source_package like 'linux-signed%'` : sql``}`
  return sql`id in (select id from packages where name = any(${list}) union select id from packages where sha256 in (${built}))`
}

async function* pages(db: Db, codename: string, wanted: RawBuilder<unknown>, from = 0): AsyncGenerator<Row[]> {
  for (let after = from; ;) {
    const { rows } =
      await sql<Row>`select id, name, version, arch, distribution, format, source_package, source_version, pipeline from records
      where distribution = ${codename} and id > ${after} and status <> 'rejected' and ${wanted} order by id limit ${PAGE}`.execute(
        db,
      )
    yield rows
    if (rows.length < PAGE) return
    after = rows.at(-1)?.id ?? after
  }
}

async function matchOne(deps: RematchDeps, distribution: Distribution, row: Row, report: RematchReport): Promise<void> {
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
async function keepEvidence({ db, clock }: RematchDeps, row: Row, seen: Seen): Promise<void> {
  await transaction(db, async (tx) => {
    if (await lockIfThere(tx, row.id)) await noteEvidence(tx, row, [seen], clock.now())
  })
}

async function matchComponents(
  deps: RematchDeps,
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

async function matchComponentsOf(deps: RematchDeps, id: number, report: RematchReport): Promise<void> {
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
