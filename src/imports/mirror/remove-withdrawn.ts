// Reports what upstream withdrew, and deletes it where the mirror says so.
import type { TaskContext } from '../../domain/tasks.ts'
import type { DeleteIds } from '../../intake/delete-packages.ts'
import type { Db } from '../../store/db.ts'
import type { Mirror } from './mirrors.ts'
import { countWithdrawn, withdrawn } from './withdrawn.ts'

/** Withdrawn packages that the lines name. */
const MOST_NAMED = 50

/** So many a run may always delete: a small mirror loses a twentieth with one package. */
const ALWAYS_REMOVED = 20

/** An upstream that publishes half an index, or a source with fewer components or architectures, withdraws much at once. */
export const isTooMuch = ({ brought, gone }: { brought: number; gone: number }, mostPercent: number): boolean =>
  gone > Math.max(ALWAYS_REMOVED, (brought * mostPercent) / 100)

export interface RemoveWithdrawnDeps {
  db: Db
  deleteIds: DeleteIds
}

/**
 * Deletes what is published or under review. What was quarantined or rejected stays: without its record, a person's
 * decision would be forgotten. An empty catalog removes nothing: no upstream withdraws everything on purpose.
 * @returns also whether it kept what it should delete, because there is too much of it
 */
export async function removeWithdrawn(
  { db, deleteIds }: RemoveWithdrawnDeps,
  mirror: Mirror,
  by: string,
  { line, signal }: Pick<TaskContext, 'line' | 'signal'>,
): Promise<{ found: number; removed: number; keptAll: boolean }> {
  const { source, selection } = mirror
  const wanted = selection.remove_withdrawn && source.pkg_count > 0
  const counts = wanted ? await countWithdrawn(db, mirror) : { brought: 0, gone: 0 }
  const keptAll = isTooMuch(counts, selection.remove_at_most_percent)
  if (keptAll)
    line(
      `${source.name} no longer offers ${counts.gone} of ${counts.brought} packages: more than remove_at_most_percent, so none is deleted`,
    )
  const removes = wanted && !keptAll
  let found = 0
  let removed = 0
  for await (const rows of withdrawn(db, mirror)) {
    signal.throwIfAborted()
    for (const { name, version, arch } of rows)
      if (found++ < MOST_NAMED) line(`${source.name} no longer offers ${name} ${version} (${arch})`)
    if (!removes) continue
    const ids = rows.filter(({ status }) => status === 'published' || status === 'pending_review').map(({ id }) => id)
    if (ids.length === 0) continue
    const reason = { withdrawn_from: source.id }
    removed += (await deleteIds(ids, by, { ip: null, requestId: null }, reason)).length
  }
  return { found, removed, keptAll }
}
