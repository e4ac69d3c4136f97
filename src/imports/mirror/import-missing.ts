// Imports what a mirror lacks, in the order of names, until nothing is missing or a limit is reached.
import type { Settings } from '../../domain/settings.ts'
import type { TaskContext } from '../../domain/tasks.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import { taskById } from '../../tasks/task-query.ts'
import type { ImportedPackage, ImportMany, Wanted } from '../import-many.ts'
import { createRunLimits, type StopReason } from './limits.ts'
import { missing, wholeRows } from './missing.ts'
import type { Mirror } from './mirrors.ts'
import type { Refusals } from './refusals.ts'
import type { Selecting } from './select.ts'
import { COUNTED, cursorOf, doneCount, rangesLeft, type MirrorProgress, type ResumePosition } from './progress.ts'

/** Results between two saves of the cursor. */
const SAVE_EVERY = 20
/** Failed packages that log lines name. */
const MOST_NAMED = 50

export interface ImportMissingDeps {
  db: Db
  clock: Clock
  importMany: ImportMany
  settings(): Settings
  /** free bytes on the disk of the pool */
  freeBytes(): Promise<number>
}

interface MissingOptions extends Pick<Selecting, 'dependencies'> {
  by: string
  limit: number | null
  refusals: Refusals
}

/**
 * Keeps `progress` up to date and saves it as the cursor.
 * @param limit lowers `mirror.max_packages_per_run`
 * @returns the limit that ended the run; null when nothing is missing
 */
export async function importMissing(
  deps: ImportMissingDeps,
  mirror: Mirror,
  context: TaskContext,
  progress: MirrorProgress,
  { by, limit, refusals, dependencies }: MissingOptions,
): Promise<StopReason | null> {
  const { db } = deps
  const { source } = mirror
  const limits = createRunLimits(deps, { elapsedMs: progress.elapsed_ms, packages: limit })
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), Math.max(0, limits.remainingMs()))
  /** packages whose import has begun and has no result yet, in the order of their names */
  const underWay = new Map<Wanted, { bytes: number; before: ResumePosition }>()
  /** where the search for missing packages is */
  let reached: ResumePosition = progress.place
  let begun = doneCount(progress.counts)
  let stopped: StopReason | null = null
  let unsaved = 0

  async function* wanted(): AsyncGenerator<Wanted, void> {
    for (const { wrapped, ...range } of rangesLeft(progress)) {
      let name = range.after
      reached = { after: name, wrapped }
      for await (const { missing: rows } of missing(db, mirror, range, refusals, { dependencies }))
        for await (const entry of wholeRows(db, source.id, rows)) {
          if (entry.name !== name) reached = { after: name, wrapped }
          name = entry.name
          stopped = await limits.before({ begun, sizeBytes: entry.size_bytes, bytesUnderWay: sizeOf(underWay) })
          if (stopped !== null) return
          begun++
          const one: Wanted = { source, entry }
          underWay.set(one, { bytes: entry.size_bytes, before: reached })
          yield one
        }
    }
  }

  async function save(): Promise<void> {
    unsaved = 0
    const [oldest] = underWay.values()
    progress.place = oldest?.before ?? reached
    progress.elapsed_ms = limits.elapsedMs()
    await context.save(cursorOf(progress))
    const done = doneCount(progress.counts)
    context.line(`${done} of ${progress.total} packages`, { done, total: progress.total, ...progress.counts })
  }

  async function note(result: ImportedPackage, about: Wanted): Promise<void> {
    const { package: name, version, arch, status, code, detail } = result
    await refusals.note(result, about)
    underWay.delete(about)
    progress.counts[COUNTED[status]]++
    if (status === 'error' && progress.counts.error <= MOST_NAMED)
      context.line(`${name} ${version} (${arch}) was not imported: ${detail}`, { code })
    if (++unsaved >= SAVE_EVERY) await save()
  }

  const begunAt = (await taskById(db, context.id))?.created_at
  const meta = {
    ...{ method: 'mirror' as const, group: null, by, origin: { ip: null, requestId: null } },
    ...(begunAt && { begunAt }),
  }
  const signal = AbortSignal.any([context.signal, deadline.signal])
  try {
    await deps.importMany(wanted(), mirror.target.distribution.codename, meta, note, signal)
  } catch (error) {
    if (!deadline.signal.aborted || context.signal.aborted) throw error
    stopped = 'max_runtime_minutes'
  } finally {
    clearTimeout(timer)
  }
  await save()
  return stopped
}

const sizeOf = (underWay: ReadonlyMap<unknown, { bytes: number }>) =>
  [...underWay.values()].reduce((sum, { bytes }) => sum + bytes, 0)
