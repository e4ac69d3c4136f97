// Records a finished background index in its distribution, which makes the distribution due for a publish.
import type { Db } from '../../store/db.ts'
import type { BackgroundIndexRow } from '../../store/tables.ts'

/**
 * Replaces one background index. The list raises the revision itself, so it covers the revision it was made from and its
 * own. When packages changed meanwhile it is published nevertheless, and made again later.
 * @param before path of the one it replaces
 * @param index null when there is none any more
 * @param madeFrom the distribution's revision when its packages were read
 */
export async function noteBackgroundIndex(
  db: Db,
  codename: string,
  before: string | undefined,
  index: Omit<BackgroundIndexRow, 'revision'> | null,
  madeFrom: number,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom('distributions')
      .select(['revision', 'background_indexes'])
      .where('codename', '=', codename)
      .forUpdate()
      .executeTakeFirstOrThrow()
    const revision = row.revision === madeFrom ? row.revision + 1 : madeFrom
    const others = row.background_indexes.filter(({ path }) => path !== before && path !== index?.path)
    await tx
      .updateTable('distributions')
      .set({
        revision: row.revision + 1,
        background_indexes: JSON.stringify(index ? [...others, { ...index, revision }] : others),
      })
      .where('codename', '=', codename)
      .execute()
  })
}
