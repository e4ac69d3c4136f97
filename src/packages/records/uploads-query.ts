// What somebody brought in, the newest first.
import type { Db } from '../../store/db.ts'

export interface UploadsFilter {
  status?: string | undefined
  distribution?: string | undefined
}

const COLUMNS = [
  'id',
  'name',
  'format',
  'version',
  'arch',
  'distribution',
  'status',
  'cve_status',
  'served',
  'imported_at',
  'imported_by',
  'import_method',
  'held_reason',
  'filename',
  'sha256',
  'size_bytes',
  'validation_steps',
  'cve_summary',
] as const

/** @param actors the names under which one person acts */
export async function uploadsPage(
  db: Db,
  actors: readonly string[],
  filter: UploadsFilter,
  at: { page: number; perPage: number },
) {
  let query = db.selectFrom('packages').where('imported_by', 'in', actors)
  if (filter.status !== undefined) query = query.where('status', '=', filter.status as 'published')
  if (filter.distribution !== undefined) query = query.where('distribution', '=', filter.distribution)
  const { total } = await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const ids = await query
    .select('id')
    .orderBy('id', 'desc')
    .limit(at.perPage)
    .offset((at.page - 1) * at.perPage)
    .execute()
  if (ids.length === 0) return { rows: [], total }
  const rows = await db
    .selectFrom('records')
    .select(COLUMNS)
    .where(
      'id',
      'in',
      ids.map(({ id }) => id),
    )
    .orderBy('id', 'desc')
    .execute()
  return { rows, total }
}
