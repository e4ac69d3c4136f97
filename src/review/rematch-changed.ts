// The run that matches the packages whose advisories changed, with the cursor from which it continues.
import { sql, type RawBuilder } from 'kysely'
import type { Distribution } from '../domain/package.ts'
import type { TaskProgress } from '../domain/tasks.ts'
import type { ComponentScan } from './components.ts'
import {
  matchComponents,
  matchOne,
  noReport,
  pages,
  TOGETHER,
  type MatchDeps,
  type MatchedRow,
  type RematchReport,
} from './match-records.ts'

/** What changed in the advisories since packages were last matched against them. */
export interface AdvisoryNews {
  generation: number
  /** false when too much changed to list: every package is matched */
  complete: boolean
  packages: { ecosystem: string; package: string | null }[]
}

export interface RematchDeps extends MatchDeps {
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

/** Names per query. */
const NAMES = 1000

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

export async function rematchChanged(
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
  for (const distribution of await deps.places()) {
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
): AsyncGenerator<{ rows: MatchedRow[]; next: Pick<Cursor, 'names' | 'after'> }> {
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
