// What people see of a task: its result, its errors, and its cancellation.
import { describe, expect, test } from 'vitest'
import { Problem } from '../domain/problem.ts'
import type { TaskKind } from '../domain/tasks.ts'
import { currentWork } from '../kernel/work.ts'
import { kindOf, request, slowKind, useTaskBench } from './fixture.ts'
import { lastTask, taskById } from './task-query.ts'

const { bench, clock, process, startProcess, errors, stateOf, reaches } = useTaskBench()

describe('a request', () => {
  test('is run, and its caller gets the result and the lines', async () => {
    const tasks = startProcess(
      'one',
      kindOf(async ({ arguments: given, line }) => {
        line('begun', { n: 1 })
        line('two\nlines \0 \ud800')
        return { twice: 2 * (given['n'] as number) }
      }),
    )
    const lines: unknown[] = []
    const result = await tasks.run({ ...request, arguments: { n: 4 }, requestId: 'r1' }, (line) => lines.push(line))
    expect(result).toEqual({ twice: 8, task_id: expect.any(Number) as number })
    expect(lines).toMatchObject([
      { seq: 1, level: 'info', message: 'begun', data: { n: 1 } },
      { seq: 2, message: 'two lines  \ufffd', data: null },
    ])
    expect(await taskById(bench.db, result.task_id)).toMatchObject({
      ...{ state: 'done', attempts: 1, holder: null, created_by: 'ann', request_id: 'r1', result: { twice: 8 } },
      ...{ error: null, started_at: clock.now(), finished_at: clock.now() },
    })
  })

  test('joins one that is queued, and the arguments of both apply', async () => {
    const tasks = process('one')
    const first = await tasks.enqueue(request)
    const second = await tasks.enqueue({ ...request, arguments: { force: true } })
    const other = await tasks.enqueue({ ...request, key: 'jammy' })
    expect([first.joined, second, other.joined]).toEqual([false, { id: first.id, joined: true }, false])
    expect((await taskById(bench.db, first.id))?.arguments).toEqual({ force: true })
  })

  test('does not join one that runs: it gets the next, which begins after it', async () => {
    const { kind, runs, begun } = slowKind({ atOnce: 4 })
    const tasks = startProcess('one', kind)
    const first = await tasks.enqueue(request)
    await begun()
    const second = await tasks.enqueue(request)
    const third = await tasks.enqueue(request)
    expect([second.joined, third]).toEqual([false, { id: second.id, joined: true }])
    // Another key runs at the same time.
    await tasks.enqueue({ ...request, key: 'jammy' })
    await begun(2)
    expect([await stateOf(first.id), await stateOf(second.id)]).toEqual(['running', 'queued'])
    runs[0]!.end()
    await begun(3)
    expect([await stateOf(first.id), await stateOf(second.id)]).toEqual(['done', 'running'])
  })

  test('ends with the code and the sentence of a Problem', async () => {
    const tasks = startProcess(
      'one',
      kindOf(() => Promise.reject(new Problem('upstream_error', 'the mirror answers 503'))),
    )
    await expect(tasks.run(request)).rejects.toMatchObject({ code: 'upstream_error', detail: 'the mirror answers 503' })
    expect(await lastTask(bench.db, 'count', '')).toMatchObject({
      ...{ state: 'failed', error_code: 'upstream_error', error: 'the mirror answers 503' },
    })
    expect(errors()).toEqual([])
  })

  test('fails when an error that nothing catches comes from its work, which then waits for nothing', async () => {
    let stopped: unknown = null
    const tasks = startProcess(
      'one',
      kindOf(({ signal }) => {
        signal.addEventListener('abort', () => (stopped = signal.reason))
        setImmediate(() => currentWork()?.fail(new Error('out of an event')))
        return new Promise(() => {})
      }),
    )
    await expect(tasks.run(request)).rejects.toMatchObject({ code: 'internal_error' })
    expect(await lastTask(bench.db, 'count', '')).toMatchObject({ state: 'failed', error_code: 'internal_error' })
    expect(stopped).toBeInstanceOf(Error)
  })

  test('ends without the message of an unexpected error, which is logged', async () => {
    const tasks = startProcess(
      'one',
      kindOf(() => Promise.reject(new Error('relation "secret" does not exist'))),
    )
    await expect(tasks.run({ ...request, requestId: 'r2' })).rejects.toMatchObject({
      ...{ code: 'internal_error', detail: 'an unexpected error; the log has it' },
      extra: { request_id: 'r2', task_id: expect.any(Number) as number },
    })
    expect(errors()).toEqual(['task failed'])
  })

  test('ends when its kind throws before it returns a promise', async () => {
    const kind = kindOf(() => {
      throw new Problem('upstream_error', 'no mirror')
    })
    await expect(startProcess('one', kind).run(request)).rejects.toMatchObject({ code: 'upstream_error' })
  })

  test('can queue one that follows, in the name of the same person', async () => {
    const follow: TaskKind = { kind: 'follow', lane: 'bulk', leaderOnly: false, run: async () => ({}) }
    const tasks = startProcess(
      'one',
      kindOf(async (context) => ({ next: await context.enqueue({ kind: 'follow', key: 'k' }) })),
      follow,
    )
    const { next } = await tasks.run(request)
    expect(await taskById(bench.db, next as number)).toMatchObject({ kind: 'follow', key: 'k', created_by: 'ann' })
    await reaches(next as number, 'done')
  })
})

describe('cancelling', () => {
  test('a queued task ends it immediately', async () => {
    const tasks = process('one')
    const { id } = await tasks.enqueue(request)
    expect(await tasks.cancel(id, async () => {})).toMatchObject({ state: 'cancelled', finished_at: clock.now() })
  })

  test.each([
    ['in the same process', 'one'],
    ['in another process', 'two'],
  ])('a running task %s aborts its work', async (_, by) => {
    const { kind, runs, begun } = slowKind()
    const tasks = startProcess('one', kind)
    const { id } = await tasks.enqueue(request)
    await begun()
    const caller = by === 'one' ? tasks : process(by)
    expect((await caller.cancel(id, async () => {})).state).toBe('cancelling')
    await reaches(id, 'cancelled')
    expect(runs[0]!.context.signal.reason).toMatchObject({ message: 'the task is cancelled' })
  })

  test('tells the caller who waits for the task', async () => {
    const { kind, begun } = slowKind()
    const tasks = startProcess('one', kind)
    const waiting = expect(tasks.run(request)).rejects.toMatchObject({ code: 'task_cancelled' })
    await begun()
    await tasks.cancel((await lastTask(bench.db, 'count', ''))!.id, async () => {})
    await waiting
  })

  test.each([
    ['done', async () => ({})],
    ['failed', () => Promise.reject(new Problem('upstream_error', 'no'))],
  ])('a task that is %s is refused', async (state, run) => {
    const tasks = startProcess('one', kindOf(run))
    await tasks.run(request).catch(() => {})
    const { id } = (await lastTask(bench.db, 'count', ''))!
    await expect(tasks.cancel(id, async () => {})).rejects.toMatchObject({ code: 'task_ended', extra: { state } })
  })

  test('a task that does not exist is refused', async () => {
    await expect(process('one').cancel(1, async () => {})).rejects.toMatchObject({ code: 'not_found' })
  })

  test('is undone when the transaction fails', async () => {
    const tasks = process('one')
    const { id } = await tasks.enqueue(request)
    await expect(tasks.cancel(id, () => Promise.reject(new Error('no audit')))).rejects.toThrow('no audit')
    expect(await stateOf(id)).toBe('queued')
  })

  test('work that returns all the same is done', async () => {
    let end = () => {}
    const begun = new Promise<void>((resolve) => {
      end = resolve
    })
    const tasks = startProcess(
      'one',
      kindOf(({ signal }) => {
        end()
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ complete: true })))
      }),
    )
    const { id } = await tasks.enqueue(request)
    await begun
    await tasks.cancel(id, async () => {})
    await reaches(id, 'done')
  })
})
