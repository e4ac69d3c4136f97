// Reports what upstream withdrew, and deletes it if the mirror is set to do so.
import type { TaskContext } from '../../domain/tasks.ts'
import { neededAmong } from '../../gate/needed.ts'
import type { DeleteIds } from '../../packages/delete-packages.ts'
import type { ChooseRecords } from '../../packages/records/delete-records.ts'
import type { Db } from '../../store/db.ts'
import { revisionOf } from '../../store/records/served-query.ts'
import type { Mirror } from './mirrors.ts'
import { countWithdrawn, withdrawn, type Withdrawn } from './withdrawn.ts'

/** Withdrawn packages that log lines name. */
const MOST_NAMED = 50

/** A run may always delete this many: in a small mirror, one package is a twentieth. */
const ALWAYS_REMOVED = 20

/** An upstream that publishes half an index, or a source with fewer components or architectures, withdraws much at once. */
export const isTooMuch = ({ brought, gone }: { brought: number; gone: number }, mostPercent: number): boolean =>
  gone > Math.max(ALWAYS_REMOVED, (brought * mostPercent) / 100)

export interface RemoveWithdrawnDeps {
  db: Db
  deleteIds: DeleteIds
}

/** A package that was kept can be deleted once the package that needed it is deleted, which may be on a later page. */
const MOST_PASSES = 5

/**
 * Deletes what is published or under review. Quarantined and rejected records stay: without them, a person's decision
 * would be forgotten. A mirror with dependencies also keeps what a published package needs: its newer version may
 * be held, or another package may need the older one. An empty catalog removes nothing: no upstream withdraws everything on purpose.
 * @returns also whether it kept all packages that it should delete, because they are too many
 */
export async function removeWithdrawn(
  deps: RemoveWithdrawnDeps,
  mirror: Mirror,
  by: string,
  context: Pick<TaskContext, 'line' | 'signal'>,
): Promise<{ found: number; removed: number; keptAll: boolean }> {
  const { db } = deps
  const { line, signal } = context
  const { source, selection } = mirror
  const wanted = selection.remove_withdrawn && source.pkg_count > 0
  const counts = wanted ? await countWithdrawn(db, mirror) : { brought: 0, gone: 0 }
  const keptAll = isTooMuch(counts, selection.remove_at_most_percent)
  if (keptAll)
    line(
      `${source.name} no longer offers ${counts.gone} of ${counts.brought} packages: more than remove_at_most_percent, so none is deleted`,
    )
  let found = 0
  for await (const rows of withdrawn(db, mirror)) {
    signal.throwIfAborted()
    for (const { name, version, arch } of rows)
      if (found++ < MOST_NAMED) line(`${source.name} no longer offers ${name} ${version} (${arch})`)
  }
  let removed = 0
  if (wanted && !keptAll)
    for (let pass = 1; pass <= MOST_PASSES; pass++) {
      const { gone, kept } = await removeOnce(deps, mirror, by, signal)
      removed += gone
      if (gone > 0 && kept.length > 0 && pass < MOST_PASSES) continue
      for (const why of kept.slice(0, MOST_NAMED)) line(why)
      break
    }
  return { found, removed, keptAll }
}

/** @returns how many were deleted, and a sentence for each that stays because it is needed */
async function removeOnce(
  { db, deleteIds }: RemoveWithdrawnDeps,
  mirror: Mirror,
  by: string,
  signal: AbortSignal,
): Promise<{ gone: number; kept: string[] }> {
  const { source, selection, target } = mirror
  const kept: string[] = []
  let gone = 0
  for await (const rows of withdrawn(db, mirror)) {
    signal.throwIfAborted()
    const old = rows.filter(({ status }) => status === 'published' || status === 'pending_review')
    const before = await revisionOf(db, target.distribution.codename)
    const needed = await neededAmong(db, target, selection.with_dependencies ? old.map(idOf) : [])
    for (const one of old) {
      const need = needed.get(one.id)
      if (need)
        kept.push(
          `${one.name} ${one.version} (${one.arch}) stays: ${need.name} ${need.version} needs ${need.requirement}`,
        )
    }
    const ids = old.map(idOf).filter((id) => !needed.has(id))
    if (ids.length === 0) continue
    // Packages that arrived since may need one of them: then all stay until the next run.
    const choose: ChooseRecords = async (tx, found) =>
      !selection.with_dependencies || (await revisionOf(tx, target.distribution.codename)) === before ? found : []
    const reason = { withdrawn_from: source.id }
    gone += (await deleteIds(ids, by, { ip: null, requestId: null }, reason, choose)).length
  }
  return { gone, kept }
}

const idOf = ({ id }: Withdrawn) => id
