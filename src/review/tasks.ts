// Kinds of tasks of this room: the update of the advisories, and the match of stored packages that follows it.
import type { TaskKind } from '../domain/tasks.ts'
import type { UpdateOutcome } from '../gate/engines/scanner.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Refresh } from './refresh.ts'
import type { RematchReport } from './match-records.ts'
import type { Rematch } from './rematch.ts'

const ADVISORIES = 'advisories'
const REMATCH = 'rematch'
const FEEDS = 'feeds'

/**
 * Imports advisories. When there are new ones it queues the match of the packages, including packages that an earlier import
 * left unmatched.
 * @param deps.endDeadImport lets the next import begin although an earlier one has not ended
 */
export function advisoriesKind(deps: {
  refresh: Pick<Refresh, 'advisories'>
  rematch: Pick<Rematch, 'isDue'>
  endDeadImport(): Promise<void>
}): TaskKind {
  return {
    kind: ADVISORIES,
    lane: 'maintenance',
    leaderOnly: true,
    async run({ arguments: { force }, attempt, line, signal, enqueue }) {
      // One task runs at a time, so the import of an earlier process is dead.
      if (attempt > 1) await deps.endDeadImport()
      const outcome = await deps.refresh.advisories(line, force === true, signal)
      return { ...outcome, rematch_task_id: (await deps.rematch.isDue()) ? await enqueue({ kind: REMATCH }) : null }
    },
  }
}

/** Reads scores and the list of known-exploited vulnerabilities. */
export function feedsKind(refresh: Pick<Refresh, 'lists'>): TaskKind {
  return {
    kind: FEEDS,
    lane: 'maintenance',
    leaderOnly: true,
    run: async ({ line, signal }) => ({ ...(await refresh.lists(line, true, signal)) }),
  }
}

export function rematchKind(rematch: Pick<Rematch, 'changed'>): TaskKind {
  return {
    kind: REMATCH,
    lane: 'maintenance',
    leaderOnly: true,
    run: async (context) => ({ ...(await rematch.changed(context)) }),
  }
}

/** The tasks of this room, for callers that wait for their end. */
export interface ReviewTasks {
  /**
   * Updates the advisories and matches the packages against them.
   * @param request.force also reads advisories that are not older than a day
   */
  advisories(
    request: { force: boolean; createdBy: string; requestId?: string | null },
    progress?: (line: string) => void,
  ): Promise<UpdateOutcome>
  /** Reads scores and the known-exploited list, also when they were read a moment ago. */
  feeds(
    request: { createdBy: string; requestId?: string | null },
    progress?: (line: string) => void,
  ): Promise<UpdateOutcome>
  /** Matches the packages whose advisories changed since they were last matched. */
  rematch(createdBy: string): Promise<RematchReport>
}

export function createReviewTasks(tasks: Pick<Tasks, 'run' | 'ended'>): ReviewTasks {
  return {
    async advisories({ force, ...request }, progress = () => {}) {
      const follow = ({ message }: { message: string }) => progress(message)
      // A request without the argument does not undo `force` in a waiting task that it joins.
      const task = { ...request, kind: ADVISORIES, ...(force ? { arguments: { force } } : {}) }
      const { status, message, rematch_task_id: rematch } = await tasks.run(task, follow)
      if (typeof rematch === 'number') await tasks.ended(rematch, follow)
      return { status, message } as unknown as UpdateOutcome
    },
    async feeds(request, progress = () => {}) {
      const { status, message } = await tasks.run({ ...request, kind: FEEDS }, (line) => progress(line.message))
      return { status, message } as unknown as UpdateOutcome
    },
    async rematch(createdBy) {
      const { task_id: _, ...report } = await tasks.run({ kind: REMATCH, createdBy })
      return report as unknown as RematchReport
    },
  }
}
