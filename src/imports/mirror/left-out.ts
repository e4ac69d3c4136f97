// What a selection names and no run imports: the plan and the log lines of a run report it.
import { sql } from 'kysely'
import { archsOf } from '../../formats/architectures.ts'
import type { Db } from '../../store/db.ts'
import type { Mirror } from './mirrors.ts'
import { conditions, likePattern } from './select.ts'

export interface LeftOut {
  reason: 'architecture' | 'format'
  /** one sentence */
  detail: string
  count: number
}

/** Architectures that are listed; a repository has a dozen. */
const MOST_ARCHITECTURES = 20

export interface Unmatched {
  total: number
  /** the first names and patterns of the selection that the source has nothing for */
  names: string[]
}

/** Names and patterns that are listed. */
const MOST_NAMES = 200

/** Finds misspelt names, which would never bring a package. */
export async function unmatched(
  db: Db,
  { source, selection }: Pick<Mirror, 'source' | 'selection'>,
): Promise<Unmatched> {
  const { names, globs } = selection
  const own = sql`source_id = ${source.id}`
  const { rows } = await sql<{ asked: string }>`
    select n.asked from unnest(${names}::text[]) with ordinality as n (asked, place)
      where not exists (select from catalog c where c.name = n.asked and ${own})
    union all
    select g.asked from unnest(${globs}::text[], ${globs.map(likePattern)}::text[]) as g (asked, pattern)
      where not exists (select from catalog_names c where ${own} and c.name like g.pattern)`.execute(db)
  return { total: rows.length, names: rows.slice(0, MOST_NAMES).map(({ asked }) => asked) }
}

/** Counts packages by the reason why their format refuses them, during one reading of the selection. */
export function createRefusedCount(): { note(why: string): void; list(): LeftOut[] } {
  const counts = new Map<string, number>()
  return {
    note: (why) => void counts.set(why, (counts.get(why) ?? 0) + 1),
    list: () => [...counts].map(([why, count]) => ({ reason: 'format', detail: `${count} packages: ${why}`, count })),
  }
}

/** Packages for architectures that the distribution, or the selection, does not take. */
export async function leftOut(
  db: Db,
  { source, selection, target }: Pick<Mirror, 'source' | 'selection' | 'target'>,
): Promise<LeftOut[]> {
  const taken =
    selection.architectures.length > 0 ? selection.architectures : archsOf(target.format, target.distribution)
  const { rows } = await sql<{ arch: string; n: number }>`select arch, count(*)::int as n from catalog
    where source_id = ${source.id} and ${conditions(selection)} and arch <> all(${taken}::text[])
    group by arch order by n desc, arch limit ${MOST_ARCHITECTURES}`.execute(db)
  const by = selection.architectures.length > 0 ? 'the selection' : target.distribution.codename
  return rows.map(({ arch, n }) => ({
    ...{ reason: 'architecture' as const, count: n },
    detail: `${n} packages for ${arch}: ${by} takes ${taken.join(' and ')}`,
  }))
}
