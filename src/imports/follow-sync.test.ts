// What the end of a sync, a cancellation and a shutdown mean for the task that waits.
import { expect, test } from 'vitest'
import { Problem } from '../domain/problem.ts'
import { TaskCancelled } from '../domain/tasks.ts'
import { followSync, type SyncTasks } from './follow-sync.ts'

/** Tasks of which one reports a line and then ends, or returns null as they do when they stop. */
function tasksWith(end: object | null, cancel: () => Promise<void> = async () => {}) {
  const cancelled: number[] = []
  const tasks = {
    async *follow() {
      yield [{ seq: 1, message: 'reading' }]
      return end
    },
    cancel(id: number) {
      cancelled.push(id)
      return cancel()
    },
  }
  return { tasks: tasks as unknown as SyncTasks, cancelled }
}

test('a sync that is followed is returned when it has ended, after its lines', async () => {
  const { tasks, cancelled } = tasksWith({ id: 7, state: 'failed' })
  const lines: string[] = []
  const ended = await followSync(tasks, 7, new AbortController(), ({ message }) => lines.push(message))
  expect([ended.state, lines, cancelled]).toEqual(['failed', ['reading'], []])
})

test.each([
  ['that is running', async () => {}],
  ['that has ended', () => Promise.reject(new Problem('task_ended', 'the task has ended'))],
])('cancelling cancels a sync %s', async (_, cancel) => {
  const { tasks, cancelled } = tasksWith(null, cancel)
  const controller = new AbortController()
  controller.abort(new TaskCancelled())
  await expect(followSync(tasks, 7, controller, () => {})).rejects.toBe(controller.signal.reason)
  expect(cancelled).toEqual([7])
})

test('a shutdown that is noticed before the signal leaves the sync alone, and is not taken for its failure', async () => {
  const { tasks, cancelled } = tasksWith(null)
  const controller = new AbortController()
  const following = followSync(tasks, 7, controller, () => {})
  const reason = new Error('the service is stopping')
  setImmediate(() => controller.abort(reason))
  await expect(following).rejects.toBe(reason)
  expect(cancelled).toEqual([])
})
