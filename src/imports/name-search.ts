// Finds the names in catalogs that contain given words, in the packed lists of names.
import { sql } from 'kysely'
import type { Db } from '../store/db.ts'

/** A name in the catalogs of sources. */
export interface FoundName {
  folded: string
  name: string
}

/** The parts of a text that a name must have: its words, in lower case. */
export const wordsOf = (text: string) => [...new Set(text.toLowerCase().split(/\s+/).filter(Boolean))]

/**
 * The first names that have all of the words, and how many packages have such names. A name that equals the only word
 * is first, then names that begin with the first word, then the others, in their order. The database reads 1,000 rows for
 * 200,000 names and returns those with the words; this process finds the lines, in 10 ms, because SQL takes 100 ms to split them.
 * @param words in lower case, at least one, without white space
 */
export async function findNames(
  db: Db,
  words: readonly string[],
  sourceIds: readonly number[],
  limit: number,
): Promise<{ total: number; first: FoundName[] }> {
  const lists = await db
    .selectFrom('catalog_name_lists')
    .select('names')
    .where((of) => of.and(words.map((word) => sql<boolean>`strpos(names, ${word}) > 0`)))
    .where(sql<boolean>`source_id = any(${sourceIds}::bigint[])`)
    .execute()
  let total = 0
  const first = keepFirst(limit)
  for (const { names } of lists) {
    /** Lines are in order: if one of a rank is too late to be kept, so are all later ones of that rank. */
    const isOver = [false, false, false]
    for (const { rank, line, packages } of linesWith(names, words)) {
      total += packages
      if (isOver[rank]) continue
      const [folded = '', name = folded] = line().split('\t')
      isOver[rank] = !first.add({ rank, folded, name })
    }
  }
  return { total, first: first.sorted() }
}

/** How a name matches: it equals the only word, begins with the first word, or has it elsewhere. */
type Rank = 0 | 1 | 2

/** Finds lines by the longest word, because the fewest lines have it. */
function* linesWith(
  list: string,
  words: readonly string[],
): Generator<{ rank: Rank; line: () => string; packages: number }> {
  const text = words.reduce((longest, word) => (word.length > longest.length ? word : longest))
  const others = words.filter((word) => word !== text)
  const [beginning = text] = words
  const isPlain = !list.includes('\t')
  for (let at = list.indexOf(text), end; at >= 0; at = list.indexOf(text, end)) {
    const found = list.indexOf('\n', at)
    end = found < 0 ? list.length : found
    const begin = list.lastIndexOf('\n', at) + 1
    const line = () => list.slice(begin, end)
    const tab = isPlain ? -1 : list.indexOf('\t', begin)
    const isLong = tab >= 0 && tab < end
    // The match is in the original name, which follows the lower-case one: the line was found already.
    if (isLong && tab < at) continue
    const nameEnd = isLong ? tab : end
    if (others.length > 0) {
      const folded = list.slice(begin, nameEnd)
      if (!others.every((word) => folded.includes(word))) continue
    }
    const rank = !list.startsWith(beginning, begin) ? 2 : begin + beginning.length === nameEnd ? 0 : 1
    yield { rank, line, packages: isLong ? Number(list.slice(list.lastIndexOf('\t', end) + 1, end)) : 1 }
  }
}

interface Ranked extends FoundName {
  rank: Rank
}

/** Keeps the first of many names, which come in any order and once for each source. */
function keepFirst(limit: number) {
  let kept: Ranked[] = []
  let last: Ranked | undefined
  const inOrder = (a: Ranked, b: Ranked) => a.rank - b.rank || compare(a.folded, b.folded) || compare(a.name, b.name)
  const isOther = (name: Ranked, at: number, all: Ranked[]) => at === 0 || inOrder(all[at - 1]!, name) !== 0
  const cut = () => (kept = kept.sort(inOrder).filter(isOther).slice(0, limit))
  return {
    /** @returns false when it is none of the first */
    add(name: Ranked): boolean {
      if (last && inOrder(name, last) > 0) return false
      kept.push(name)
      if (kept.length >= 4 * limit) last = cut()[limit - 1]
      return true
    },
    sorted: cut,
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
