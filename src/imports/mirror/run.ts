// One run of a mirror, as a task: reads the catalog, imports what is missing within the limits, reports what was withdrawn.
import { Problem } from '../../domain/problem.ts'
import type { TaskContext, TaskKind } from '../../domain/tasks.ts'
import { failureOf } from '../../kernel/failure.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import { followSync, type SyncTasks } from '../follow-sync.ts'
import { SYNC } from '../sources.ts'
import { importMissing, type ImportMissingDeps } from './import-missing.ts'
import type { StopReason } from './limits.ts'
import { createRefusedCount, leftOut, unmatched, type LeftOut } from './left-out.ts'
import { missing } from './missing.ts'
import type { Mirror, Mirrors } from './mirrors.ts'
import { cursorOf, doneCount, progressOf, type MirrorCounts, type MirrorProgress } from './progress.ts'
import { createRefusals, forgetRefusals, type Refusals } from './refusals.ts'
import { removeWithdrawn, type RemoveWithdrawnDeps } from './remove-withdrawn.ts'
import type { Selected } from './select.ts'
import { dependenciesOf, type Dependencies } from './with-dependencies.ts'

export const MIRROR = 'mirror'

/** Packages that are not fetched and that log lines name. */
const MOST_NAMED = 50

export interface MirrorRunDeps extends ImportMissingDeps, RemoveWithdrawnDeps {
  audit: Pick<AuditLog, 'record'>
  mirrors: Pick<Mirrors, 'find' | 'continueAfter'>
  /** of the syncs of sources */
  tasks(): SyncTasks
}

export interface MirrorArguments {
  by?: string
  /** of the job, for people */
  label?: string
  /** lowers `mirror.max_packages_per_run` for this run */
  limit?: number
}

export interface MirrorResult extends MirrorCounts {
  source_id: number
  distribution: string
  total: number
  done_count: number
  error_count: number
  /** the limit that ended the run; null: nothing is missing any more */
  stopped: StopReason | null
  /** packages that the source no longer offers, and how many of them were deleted */
  withdrawn: number
  removed: number
  /** packages that were not fetched, because the gate refused the same bytes under the same rules */
  refused: number
  /** packages that were missing when the run began and that selected ones need */
  dependencies: number
  /** requirements of selected packages that neither the source nor the distribution meets */
  unresolved: number
}

/** The task of one source; its key is the id of the source. */
export function mirrorKind(deps: MirrorRunDeps): TaskKind {
  return {
    kind: MIRROR,
    lane: 'bulk',
    leaderOnly: false,
    // A slow source does not hold up another one.
    atOnce: 2,
    async run(context) {
      const { by = 'scheduler' } = context.arguments as MirrorArguments
      const progress = progressOf(context.cursor)
      try {
        await deps.mirrors.find(context.key)
        const early = await readCatalog(deps.tasks(), context, progress, by)
        const result = await mirrorOnce(deps, context, progress, early)
        await recordEnd(deps.audit, context.key, by, result)
        return { ...result }
      } catch (error) {
        if (!context.signal.aborted) await recordFailure(deps.audit, context.key, by, error)
        throw error
      }
    },
  }
}

/**
 * Queues a sync of the source and waits for its end.
 * @returns why nothing is imported although the upstream works: the disk has no room for its indexes
 * @throws Problem('upstream_error')
 */
async function readCatalog(
  tasks: SyncTasks,
  context: TaskContext,
  progress: MirrorProgress,
  by: string,
): Promise<StopReason | null> {
  if (progress.total !== null) return null
  if (progress.sync_task === null) {
    progress.sync_task = await context.enqueue({ kind: SYNC, key: context.key, arguments: { by } })
    await context.save(cursorOf(progress))
    context.line('reading the catalog of the source')
  }
  const ended = await followSync(tasks, progress.sync_task, context, () => {})
  if (ended.state === 'done') return null
  if (ended.error_code === 'storage_full') return 'min_free_disk_gb'
  const why = ended.error ?? 'its task was cancelled'
  throw new Problem('upstream_error', `the catalog could not be read: ${why}`, { ...ended.error_extra })
}

async function mirrorOnce(
  deps: MirrorRunDeps,
  context: TaskContext,
  progress: MirrorProgress,
  early: StopReason | null,
): Promise<MirrorResult> {
  const { by = 'scheduler', limit = null } = context.arguments as MirrorArguments
  const mirror = await deps.mirrors.find(context.key)
  const { source, row, target } = mirror
  const refusals = await createRefusals(deps.db, mirror, deps.settings(), deps.clock.now())
  const dependencies = await dependenciesOf(deps.db, mirror, refusals, context.signal)
  if (progress.total === null) {
    await forgetRefusals(deps.db, source.id, deps.clock.now())
    const { max_packages_per_run: most } = deps.settings().mirror
    progress.from = row.continue_after
    progress.place = { after: progress.from, wrapped: false }
    const found = await countMissing(deps.db, mirror, refusals, context, dependencies)
    progress.total = Math.min(found.missing, most, limit ?? most)
    progress.refused = found.refused
    progress.dependencies = found.dependencies
    progress.unresolved = dependencies?.unresolved.total ?? 0
    await context.save(cursorOf(progress))
    context.line(`${progress.total} packages to import`, { done: 0, total: progress.total })
    if (dependencies) tellOf(dependencies, found.dependencies, mirror, context)
    const { total, names } = await unmatched(deps.db, mirror)
    if (total > 0)
      context.line(`the source has nothing for ${total} of the names: ${names.slice(0, MOST_NAMED).join(', ')}`)
    for (const { detail } of [...(await leftOut(deps.db, mirror)), ...found.unfit])
      context.line(`not imported: ${detail}`)
  }
  const stopped =
    early ??
    (await importMissing(deps, mirror, context, progress, { by, limit, refusals, dependencies: dependencies?.paths }))
  await deps.mirrors.continueAfter(source.id, stopped === null ? null : progress.place.after)
  if (stopped !== null) context.line(`the run ends early: ${stopped} is reached; the next run continues`)
  const { found, removed, keptAll } = await removeWithdrawn(deps, mirror, by, context)
  return {
    ...{ source_id: source.id, distribution: target.distribution.codename, total: progress.total },
    ...progress.counts,
    ...{ done_count: doneCount(progress.counts), error_count: progress.counts.error },
    stopped: stopped ?? (keptAll ? 'remove_at_most_percent' : null),
    ...{ withdrawn: found, removed, refused: progress.refused ?? 0 },
    ...{ dependencies: progress.dependencies ?? 0, unresolved: progress.unresolved ?? 0 },
  }
}

/** Counts the missing packages, and names those that will not be fetched. */
async function countMissing(
  db: Db,
  mirror: Mirror,
  refusals: Refusals,
  { signal, line }: TaskContext,
  dependencies: Dependencies | null,
): Promise<{ missing: number; refused: number; dependencies: number; unfit: LeftOut[] }> {
  const count = { missing: 0, refused: 0, dependencies: 0 }
  const unfit = createRefusedCount()
  const more = { dependencies: dependencies?.paths, onRefused: unfit.note }
  let named = 0
  const skip = ({ name, version, arch }: Selected, why: string, code: string) => {
    if (named++ < MOST_NAMED) line(`${name} ${version} (${arch}) is not imported: ${why}`, { code })
  }
  for await (const found of missing(db, mirror, { after: null, upTo: null }, refusals, more)) {
    signal.throwIfAborted()
    count.missing += found.missing.length
    count.dependencies += found.missing.filter(({ path }) => dependencies?.paths.has(path)).length
    count.refused += found.refused.length
    for (const one of found.conflicting) skip(one, 'the distribution has it with other bytes', 'duplicate_conflict')
    for (const { one, refusal } of found.refused)
      skip(one, `these bytes were refused before (${refusal.detail ?? refusal.code})`, refusal.code)
  }
  return { ...count, unfit: unfit.list() }
}

/** Reports unmet requirements. They do not stop the run: another source may meet them, or nobody installs what needs them. */
function tellOf(
  { unresolved, truncated }: Dependencies,
  coming: number,
  { source, target }: Mirror,
  { line }: TaskContext,
): void {
  if (coming > 0) line(`${coming} packages come because selected ones need them`)
  for (const { name, needed_by: by } of unresolved.requirements.slice(0, MOST_NAMED))
    line(`neither ${source.name} nor ${target.distribution.codename} has ${name}, which ${by} needs`)
  if (unresolved.total > MOST_NAMED) line(`nor ${unresolved.total - MOST_NAMED} more`)
  if (truncated) line('some packages need more packages than are followed')
}

async function recordEnd(audit: MirrorRunDeps['audit'], key: string, by: string, result: MirrorResult): Promise<void> {
  const { added, pending, blocked, error, stopped, distribution } = result
  await audit.record({
    action: 'MIRROR',
    result: error + pending + blocked > 0 || stopped !== null ? 'WARNING' : 'SUCCESS',
    user: by,
    distribution,
    outcome: stopped ?? 'ok',
    detail: `${added} added, ${pending} to review, ${blocked} blocked, ${error} failed`,
    extra: { ...result, source_id: Number(key) },
  })
}

async function recordFailure(audit: MirrorRunDeps['audit'], key: string, by: string, error: unknown): Promise<void> {
  const { code, detail } = failureOf(error)
  await audit.record({
    action: 'MIRROR',
    result: 'FAILURE',
    user: by,
    outcome: code,
    detail,
    extra: { source_id: Number(key) },
  })
}
