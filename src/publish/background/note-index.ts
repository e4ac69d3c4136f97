// Records finished background indexes in their distribution, which makes the distribution due for a publish.
import type { Db } from '../../store/db.ts'
import { transaction } from '../../store/transaction.ts'
import type { BackgroundIndexRow } from '../../store/tables.ts'

/**
 * Replaces the background indexes of all architectures. This raises the revision itself, so the indexes cover the revision
 * they were made from and the new one. When packages changed meanwhile, they are still published, and made again later.
 * @param before paths of the indexes that they replace
 * @param indexes empty when there are none any more
 * @param madeFrom the distribution's revision when its packages were read
 */
export async function noteBackgroundIndexes(
  db: Db,
  codename: string,
  before: readonly string[],
  indexes: readonly Omit<BackgroundIndexRow, 'revision'>[],
  madeFrom: number,
): Promise<void> {
  await transaction(db, async (tx) => {
    const row = await tx
      .selectFrom('distributions')
      .select(['revision', 'background_indexes'])
      .where('codename', '=', codename)
      .forUpdate()
      .executeTakeFirstOrThrow()
    const revision = row.revision === madeFrom ? row.revision + 1 : madeFrom
    const replaced = new Set([...before, ...indexes.map(({ path }) => path)])
    const others = row.background_indexes.filter(({ path }) => !replaced.has(path))
    await tx
      .updateTable('distributions')
      .set({
        revision: row.revision + 1,
        background_indexes: JSON.stringify([...others, ...indexes.map((index) => ({ ...index, revision }))]),
      })
      .where('codename', '=', codename)
      .execute()
  })
}
