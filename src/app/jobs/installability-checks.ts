// Queues checks of what can be installed, some time after packages or catalogs changed.
import { isEnded } from '../../domain/tasks.ts'
import type { Offered } from '../../formats/format.ts'
import { INSTALLABILITY, type Installability } from '../../packages/installability/installability.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Db } from '../../store/db.ts'
import { lastTask } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'

/** Shortest time between two automatic checks of a distribution: a mirror of Debian 12 takes 10 s of a processor. */
export const CHECK_EVERY_MS = 30 * 60_000

/** @returns a function that queues a task for each distribution whose result is out of date */
export function createInstallabilityQueue(deps: {
  db: Db
  clock: Clock
  log: Pick<Log, 'error'>
  tasks: Pick<Tasks, 'enqueue'>
  active: readonly Offered[]
  installability: Pick<Installability, 'isDue'>
}): () => Promise<void> {
  async function queueIfDue(codename: string): Promise<void> {
    const last = await lastTask(deps.db, INSTALLABILITY, codename)
    if (last && !isEnded(last.state)) return
    if (last?.finished_at && last.finished_at.getTime() > deps.clock.now().getTime() - CHECK_EVERY_MS) return
    if (!(await deps.installability.isDue(codename))) return
    await deps.tasks.enqueue({ kind: INSTALLABILITY, key: codename, createdBy: 'system' })
  }

  return async () => {
    for (const { distribution } of deps.active) {
      const { codename } = distribution
      // A failure in one distribution must not stop the others.
      await queueIfDue(codename).catch((error: unknown) =>
        deps.log.error({ err: error, distribution: codename }, 'a check of what can be installed cannot be queued'),
      )
    }
  }
}
