// The names in catalogs that have a part in common, found in the packed lists of names.
import { sql } from 'kysely'
import type { Db } from '../store/db.ts'

/** A name in the catalog of a source, and how many packages have it. */
export interface FoundName {
  folded: string
  name: string
  source_id: number
  packages: number
}

/**
 * The first names that have that part, and how many packages have such names. The same name comes first, then those that
 * begin with it, then the others, in their order. The database reads 1,000 rows for 200,000 names and returns those with
 * the part; lines are found here, because SQL takes 100 ms to divide all of them and this 10.
 * @param text in lower case
 */
export async function findNames(
  db: Db,
  text: string,
  sourceIds: readonly number[],
  limit: number,
): Promise<{ total: number; first: FoundName[] }> {
  // It would match the divisions of the lists.
  if (/[\t\n]/.test(text)) return { total: 0, first: [] }
  const lists = await db
    .selectFrom('catalog_name_lists')
    .select(['source_id', 'names'])
    .where(sql<boolean>`strpos(names, ${text}) > 0`)
    .where(sql<boolean>`source_id = any(${sourceIds}::bigint[])`)
    .execute()
  let total = 0
  const first = keepFirst(limit)
  for (const { source_id: sourceId, names } of lists) {
    /** The lines are in order: when one of a rank comes too late to be kept, all later ones of that rank do. */
    const isOver = [false, false, false]
    for (const { rank, line, packages } of linesWith(names, text)) {
      total += packages
      if (isOver[rank]) continue
      const [folded = '', name = folded] = line().split('\t')
      isOver[rank] = !first.add({ rank, folded, name, source_id: sourceId, packages })
    }
  }
  return { total, first: first.sorted() }
}

/** Of a name: it is the text, begins with it, or has it elsewhere. */
type Rank = 0 | 1 | 2

function* linesWith(list: string, text: string): Generator<{ rank: Rank; line: () => string; packages: number }> {
  const isPlain = !list.includes('\t')
  for (let at = list.indexOf(text), end; at >= 0; at = list.indexOf(text, end)) {
    const found = list.indexOf('\n', at)
    end = found < 0 ? list.length : found
    const begin = list.lastIndexOf('\n', at) + 1
    const line = () => list.slice(begin, end)
    const tab = isPlain ? -1 : list.indexOf('\t', begin)
    const isLong = tab >= 0 && tab < end
    // The name as it is, after the one in lower case, has the text too.
    if (isLong && tab < at) continue
    const rank = at > begin ? 2 : at + text.length === (isLong ? tab : end) ? 0 : 1
    yield { rank, line, packages: isLong ? Number(list.slice(list.lastIndexOf('\t', end) + 1, end)) : 1 }
  }
}

interface Ranked extends FoundName {
  rank: Rank
}

/** Keeps the first names of many that come in any order. */
function keepFirst(limit: number) {
  let kept: Ranked[] = []
  let last: Ranked | undefined
  const inOrder = (a: Ranked, b: Ranked) =>
    a.rank - b.rank || compare(a.folded, b.folded) || compare(a.name, b.name) || compare(a.source_id, b.source_id)
  const cut = () => (kept = kept.sort(inOrder).slice(0, limit))
  return {
    /** @returns false when it is none of the first */
    add(name: Ranked): boolean {
      if (last && inOrder(name, last) > 0) return false
      kept.push(name)
      if (kept.length >= 4 * limit) last = cut().at(-1)
      return true
    },
    sorted: cut,
  }
}

const compare = <T extends string | number>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0)
