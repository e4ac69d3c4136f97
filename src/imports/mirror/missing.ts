// The packages that a mirror lacks, in the order of their names.
import type { Db } from '../../store/db.ts'
import type { CatalogRow } from '../../store/tables.ts'
import { compareWithRecords, type Presence } from './compare.ts'
import type { Mirror } from './mirrors.ts'
import type { MirrorRefusal, Refusals } from './refusals.ts'
import { inPieces, selected, type NameRange, type Selected, type Selecting } from './select.ts'

/** Complete rows of the catalog that one query reads: some have hundreds of relations. */
const WHOLE = 20

export interface Differences {
  missing: Selected[]
  conflicting: Selected[]
  refused: { one: Selected; refusal: MirrorRefusal }[]
}

/** Per piece of a range: missing packages, those whose record has other bytes, and those refused before. */
export async function* missing(
  db: Db,
  { source, selection, target }: Mirror,
  range: NameRange,
  refusals: Pick<Refusals, 'among'>,
  more: Pick<Selecting, 'dependencies' | 'onRefused'> = {},
): AsyncGenerator<Differences, void> {
  for await (const piece of inPieces(selected({ db, sourceId: source.id, selection, target, ...more }, range))) {
    const refused = await refusals.among(piece)
    const standings = await compareWithRecords(db, target, piece, refused)
    const those = (standing: Presence) => piece.filter((_, index) => standings[index] === standing)
    yield {
      missing: those('missing'),
      conflicting: those('conflict'),
      refused: those('refused').map((one) => ({ one, refusal: refused.get(one.digest) as MirrorRefusal })),
    }
  }
}

/** The complete rows of packages, in the same order; those that a sync removed meanwhile are left out. */
export async function* wholeRows(
  db: Db,
  sourceId: number,
  rows: readonly Pick<Selected, 'path'>[],
): AsyncGenerator<CatalogRow, void> {
  for (let at = 0; at < rows.length; at += WHOLE) {
    const paths = rows.slice(at, at + WHOLE).map(({ path }) => path)
    const found = await db
      .selectFrom('catalog')
      .selectAll()
      .where('source_id', '=', sourceId)
      .where('path', 'in', paths)
      .execute()
    const byPath = new Map(found.map((row) => [row.path, row]))
    for (const path of paths) {
      const row = byPath.get(path)
      if (row) yield row
    }
  }
}
