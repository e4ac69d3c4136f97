// Pages of decisions, newest first.
import type { Db } from '../../store/db.ts'
import type { DecisionRow } from '../../store/tables.ts'

export interface DecisionFilter {
  package?: string | undefined
  version?: string | undefined
  distribution?: string | undefined
  action?: string | undefined
  active?: boolean | undefined
  assignedTo?: string | undefined
  /** active and assigned to nobody */
  unassigned?: boolean | undefined
}

export async function decisionPage(
  db: Db,
  filter: DecisionFilter,
  at: { page: number; perPage: number },
): Promise<{ rows: DecisionRow[]; total: number }> {
  const query = matching(db, filter)
  const { total } = await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const rows = await newest(query, at.perPage)
    .offset((at.page - 1) * at.perPage)
    .execute()
  return { rows, total }
}

/** The newest decisions that are older than one. The cost does not depend on their number. */
export async function decisionsBefore(
  db: Db,
  filter: DecisionFilter,
  before: DecisionRow | null,
  most: number,
): Promise<DecisionRow[]> {
  const query = matching(db, filter)
  return newest(before ? query.where('id', '<', before.id) : query, most).execute()
}

const newest = (query: ReturnType<typeof matching>, most: number) => query.selectAll().orderBy('id', 'desc').limit(most)

function matching(db: Db, filter: DecisionFilter) {
  let query = db.selectFrom('decisions')
  if (filter.package !== undefined) query = query.where('package', '=', filter.package)
  if (filter.version !== undefined) query = query.where('version', '=', filter.version)
  if (filter.distribution !== undefined) query = query.where('distribution', '=', filter.distribution)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action as DecisionRow['action'])
  if (filter.active !== undefined) query = query.where('active', '=', filter.active)
  if (filter.assignedTo !== undefined) query = query.where('assigned_to', '=', filter.assignedTo)
  if (filter.unassigned) query = query.where('assigned_to', 'is', null).where('active', '=', true)
  return query
}
