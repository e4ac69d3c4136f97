// When an update of the advisories is followed by a match of the packages, and what its callers get.
import { describe, expect, test } from 'vitest'
import type { Json } from '../domain/json.ts'
import type { TaskContext } from '../domain/tasks.ts'
import type { TaskLine } from '../tasks/task-query.ts'
import type { Refresh } from './refresh.ts'
import { advisoriesKind, createReviewTasks } from './tasks.ts'

describe('an update of the advisories', () => {
  function runIt(context: Partial<TaskContext>, isDue: boolean) {
    const calls: string[] = []
    const { run } = advisoriesKind({
      refresh: {
        advisories: (_: Parameters<Refresh['advisories']>[0], force) => {
          calls.push(force ? 'forced update' : 'update')
          return Promise.resolve({ status: 'updated', message: 'new' })
        },
      },
      rematch: { isDue: () => Promise.resolve(isDue) },
      endDeadImport: () => Promise.resolve(void calls.push('dead import ended')),
    })
    const whole: TaskContext = {
      ...{ id: 1, key: '', arguments: {}, attempt: 1, cursor: null, signal: new AbortController().signal },
      save: () => Promise.resolve(),
      line: () => {},
      enqueue: ({ kind }) => Promise.resolve(void calls.push(`queued ${kind}`)).then(() => 9),
      ...context,
    }
    return run(whole).then((result) => ({ calls, result }))
  }

  test.each<[string, Partial<TaskContext>, boolean, string[], number | null]>([
    ['queues no match when none is due', {}, false, ['update'], null],
    ['queues a match when one is due', {}, true, ['update', 'queued rematch'], 9],
    ['is forced when the request says so', { arguments: { force: true } }, false, ['forced update'], null],
    ['ends the import of a dead process first', { attempt: 2 }, false, ['dead import ended', 'update'], null],
  ])('%s', async (_, context, isDue, calls, rematch) => {
    expect(await runIt(context, isDue)).toEqual({
      calls,
      result: { status: 'updated', message: 'new', rematch_task_id: rematch },
    })
  })
})

describe('a caller who waits for an update', () => {
  const results: Record<string, Json> = {
    advisories: { status: 'updated', message: 'new', rematch_task_id: 2 },
    rematch: { matched: 1 },
  }

  test('gets its outcome after the match, and the lines of both', async () => {
    const waited: unknown[] = []
    const line = (message: string): TaskLine => ({ seq: 1, at: new Date(0), level: 'info', message, data: null })
    const tasks = createReviewTasks({
      run: (request, onLine) => {
        waited.push(request)
        onLine?.(line('imported'))
        return Promise.resolve({ ...results[request.kind], task_id: 1 })
      },
      ended: (id, onLine) => {
        waited.push(id)
        onLine?.(line('matched'))
        return Promise.resolve({ task_id: id })
      },
    })
    const lines: string[] = []
    const outcome = await tasks.advisories({ force: true, createdBy: 'ann' }, (message) => lines.push(message))
    expect([outcome, lines]).toEqual([{ status: 'updated', message: 'new' }, ['imported', 'matched']])
    expect(waited).toEqual([{ kind: 'advisories', arguments: { force: true }, createdBy: 'ann' }, 2])
    expect(await tasks.rematch('scheduler')).toEqual({ matched: 1 })
  })

  test('that is not forced leaves the arguments of a request that it joins', async () => {
    const requests: unknown[] = []
    const tasks = createReviewTasks({
      run: (request) => {
        requests.push(request)
        return Promise.resolve({ status: 'up_to_date', message: '', rematch_task_id: null, task_id: 1 })
      },
      ended: () => Promise.reject(new Error('nothing follows')),
    })
    await tasks.advisories({ force: false, createdBy: 'scheduler' })
    expect(requests).toEqual([{ kind: 'advisories', createdBy: 'scheduler' }])
  })
})
