// Waits for the task that syncs a source, on behalf of another task.
import { once } from 'node:events'
import { isProblem, type Problem } from '../domain/problem.ts'
import { TaskCancelled, type TaskContext } from '../domain/tasks.ts'
import type { TaskRow } from '../store/tables.ts'
import type { TaskLine } from '../tasks/task-query.ts'
import type { Tasks } from '../tasks/tasks.ts'

export type SyncTasks = Pick<Tasks, 'follow' | 'cancel'>

/**
 * Follows a sync to its end. Cancelling the task that waits cancels the sync too.
 * @param onLine receives what the sync reports
 * @throws the signal's reason when the waiting task has to stop
 */
export async function followSync(
  tasks: SyncTasks,
  id: number,
  { signal }: Pick<TaskContext, 'signal'>,
  onLine: (line: TaskLine) => void,
): Promise<TaskRow> {
  const following = tasks.follow(id, 0, signal)
  for (;;) {
    const { value, done } = await following.next()
    if (!done) {
      value.forEach(onLine)
      continue
    }
    if (signal.reason instanceof TaskCancelled) await cancelQuietly(tasks, id)
    signal.throwIfAborted()
    if (value) return value
    // The service is stopping; the waiting task's signal aborts in a moment.
    await once(signal, 'abort')
    throw signal.reason
  }
}

/** The sync may have ended meanwhile. */
async function cancelQuietly(tasks: SyncTasks, id: number): Promise<void> {
  await tasks
    .cancel(id, async () => {})
    .catch((error: unknown) => {
      const expected: Problem['code'][] = ['task_ended', 'not_found']
      if (!isProblem(error) || !expected.includes(error.code)) throw error
    })
}
