// Queues background indexes for distributions without a recent publish.
import { isEnded } from '../../domain/tasks.ts'
import type { Offered } from '../../formats/format.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { BACKGROUND_INDEXES, type BackgroundIndex } from '../../publish/background/background-index.ts'
import type { Db } from '../../store/db.ts'
import { lastTask } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'

/** How long after its last publish a distribution gets its background indexes. */
export const QUIET_MS = 20_000
/** How long after a failed or cancelled attempt they are tried again. */
export const RETRY_MS = 10 * 60_000

/** @returns a function that queues a task for each distribution with an index that is due */
export function createIndexQueue(deps: {
  db: Db
  clock: Clock
  log: Pick<Log, 'error'>
  tasks: Pick<Tasks, 'enqueue'>
  active: readonly Offered[]
  indexes: readonly Pick<BackgroundIndex, 'isDue'>[]
}): () => Promise<void> {
  const { db, tasks } = deps

  async function queueIfDue(offered: Offered): Promise<void> {
    const { codename } = offered.distribution
    const now = deps.clock.now().getTime()
    const row = await db
      .selectFrom('distributions')
      .select('published_at')
      .where('codename', '=', codename)
      .executeTakeFirst()
    if (!row?.published_at || row.published_at.getTime() >= now - QUIET_MS) return
    const last = await lastTask(db, BACKGROUND_INDEXES, codename)
    if (last && !isEnded(last.state)) return
    if (last?.finished_at && last.state !== 'done' && last.finished_at.getTime() > now - RETRY_MS) return
    for (const { isDue } of deps.indexes) {
      if (!(await isDue(offered))) continue
      await tasks.enqueue({ kind: BACKGROUND_INDEXES, key: codename, createdBy: 'system' })
      return
    }
  }

  return async () => {
    for (const offered of deps.active) {
      // A failure in one distribution must not stop the others.
      await queueIfDue(offered).catch((error: unknown) =>
        deps.log.error(
          { err: error, distribution: offered.distribution.codename },
          'background indexes cannot be queued',
        ),
      )
    }
  }
}
