// Several processes on one database: claims, take-overs, cancellation, shutdown, and what a task leaves.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Json } from '../domain/json.ts'
import { Problem } from '../domain/problem.ts'
import type { TaskContext, TaskKind } from '../domain/tasks.ts'
import { createLog } from '../kernel/log.ts'
import type { Database } from '../store/db.ts'
import { MOST_LINES } from './lines.ts'
import { claim, DEAD_AFTER_MS, enqueue, MOST_ATTEMPTS, saveCursor } from './rows.ts'
import { lastLines, lastTask, linesAfter, taskById, taskPage } from './task-query.ts'
import { createTasks, type Tasks } from './tasks.ts'

const DAY_MS = 86_400_000
let database: Database
let time: number
/** processes that are known to be dead */
let dead: Set<string>
let leader: string
let started: Tasks[]
let logged: { level: string; msg: string }[]

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  time = Date.parse('2026-03-05T00:00:00Z')
  dead = new Set()
  leader = 'one'
  started = []
  logged = []
  await database.db.deleteFrom('tasks').execute()
})
afterEach(async () => {
  await Promise.all(started.map((tasks) => tasks.stop()))
})

const clock = { now: () => new Date(time) }
const log = createLog('warn', { write: (line) => void logged.push(JSON.parse(line) as (typeof logged)[number]) })
const errors = () => logged.filter(({ level }) => level === 'error').map(({ msg }) => msg)

/** The tasks of one process. */
function process(instanceId: string, ...kinds: TaskKind[]): Tasks {
  const tasks = createTasks({
    ...{ db: database.db, clock, log, instanceId, kinds },
    checkpoint: () => {},
    isDead: (id) => Promise.resolve(dead.has(id)),
    isLeader: () => instanceId === leader,
    ...{ tickMs: 20, pollMs: 20 },
  })
  started.push(tasks)
  return tasks
}

function startProcess(instanceId: string, ...kinds: TaskKind[]): Tasks {
  const tasks = process(instanceId, ...kinds)
  tasks.start()
  return tasks
}

const kindOf = (run: TaskKind['run'], more: Partial<TaskKind> = {}): TaskKind => ({
  kind: 'count',
  leaderOnly: false,
  run,
  ...more,
})

/** A kind whose runs wait until the test lets them end, or until they are aborted. */
function slowKind(more: Partial<TaskKind> = {}) {
  const runs: { context: TaskContext; end(result?: Json): void; fail(error: Error): void }[] = []
  const kind = kindOf(
    (context) =>
      new Promise((resolve, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason as Error))
        runs.push({ context, end: (result = {}) => resolve(result), fail: reject })
      }),
    more,
  )
  const begun = (n = 1) => vi.waitFor(() => expect(runs.length).toBeGreaterThanOrEqual(n), 10_000)
  return { kind, runs, begun }
}

const request = { kind: 'count', createdBy: 'ann' }
const stateOf = async (id: number) => (await taskById(database.db, id))?.state
const reaches = (id: number, state: string) =>
  vi.waitFor(async () => expect(await stateOf(id)).toBe(state), { timeout: 10_000, interval: 20 })

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
    expect(await taskById(database.db, result.task_id)).toMatchObject({
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
    expect((await taskById(database.db, first.id))?.arguments).toEqual({ force: true })
  })

  test('does not join one that runs: it gets the next, which begins after it', async () => {
    const { kind, runs, begun } = slowKind({ atOnce: 4 })
    const tasks = startProcess('one', kind)
    const first = await tasks.enqueue(request)
    await begun()
    const second = await tasks.enqueue(request)
    const third = await tasks.enqueue(request)
    expect([second.joined, third]).toEqual([false, { id: second.id, joined: true }])
    // Another key runs meanwhile.
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
    expect(await lastTask(database.db, 'count', '')).toMatchObject({
      ...{ state: 'failed', error_code: 'upstream_error', error: 'the mirror answers 503' },
    })
    expect(errors()).toEqual([])
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
    const follow: TaskKind = { kind: 'follow', leaderOnly: false, run: async () => ({}) }
    const tasks = startProcess(
      'one',
      kindOf(async (context) => ({ next: await context.enqueue({ kind: 'follow', key: 'k' }) })),
      follow,
    )
    const { next } = await tasks.run(request)
    expect(await taskById(database.db, next as number)).toMatchObject({ kind: 'follow', key: 'k', created_by: 'ann' })
    await reaches(next as number, 'done')
  })
})

describe('several processes', () => {
  test('run each task once', async () => {
    const ran: number[] = []
    const kind = kindOf(
      async (context) => {
        ran.push(context.arguments['n'] as number)
        return {}
      },
      { atOnce: 4 },
    )
    const all = ['one', 'two', 'three'].map((id) => startProcess(id, kind))
    const wanted = Array.from({ length: 40 }, (_, n) => n)
    await Promise.all(wanted.map((n) => all[n % 3]!.run({ ...request, key: String(n), arguments: { n } })))
    expect(ran.sort((a, b) => a - b)).toEqual(wanted)
    const { rows } = { rows: await database.db.selectFrom('tasks').select(['state', 'attempts']).execute() }
    expect(new Set(rows.map(({ state, attempts }) => `${state} ${attempts}`))).toEqual(new Set(['done 1']))
  })

  test('never run two tasks of one kind and key at the same time', async () => {
    let running = 0
    let most = 0
    const kind = kindOf(
      async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setImmediate(resolve))
        running--
        return {}
      },
      { atOnce: 4 },
    )
    const all = ['one', 'two', 'three'].map((id) => startProcess(id, kind))
    for (let n = 0; n < 5; n++) await Promise.all(all.map((tasks) => tasks.run(request)))
    expect(most).toBe(1)
  })

  test.each([
    ['only the leader', true, 'one'],
    ['any process', false, 'two'],
  ])('let %s run a kind with leaderOnly %s', async (_, leaderOnly, runner) => {
    const run = (by: string) => kindOf(async () => ({ by }), { leaderOnly })
    const tasks = startProcess('two', run('two'))
    if (leaderOnly) startProcess('one', run('one'))
    expect(await tasks.run(request)).toMatchObject({ by: runner })
  })

  test('leave a task queued while its kind has no free slot', async () => {
    const { kind, runs, begun } = slowKind({ atOnce: 2 })
    const quick: TaskKind = { kind: 'quick', leaderOnly: false, run: async () => ({}) }
    const tasks = startProcess('one', kind, quick)
    const ids: number[] = []
    for (const key of ['a', 'b', 'c']) ids.push((await tasks.enqueue({ ...request, key })).id)
    await begun(2)
    // This one was queued last, so the process has looked at the third before.
    await tasks.run({ ...request, kind: 'quick' })
    expect([runs.length, await stateOf(ids[2]!)]).toEqual([2, 'queued'])
    runs[0]!.end()
    await begun(3)
  })

  test('show the end of a task to a caller in another process', async () => {
    startProcess(
      'one',
      kindOf(async () => ({ by: 'one' })),
    )
    expect(await process('two').run(request)).toMatchObject({ by: 'one' })
  })
})

describe('a task whose process died', () => {
  /** Claims the queued task as a process that then does nothing more. */
  async function claimedBy(instance: string) {
    const { id } = await enqueue(database.db, request, clock.now())
    const holder = `${instance}/run`
    const task = await claim(database.db, ['count'], holder, { own: [], dead: [], now: clock.now() })
    expect(task?.id).toBe(id)
    return { id, holder }
  }

  test.each([
    ['immediately when the process is known to be dead', () => void dead.add('gone')],
    ['when its heartbeat is too old', () => void (time += DEAD_AFTER_MS + 1)],
  ])('is taken over %s, and continues from its cursor', async (_, die) => {
    const hold = await claimedBy('gone')
    await saveCursor(database.db, hold, { at: 7 }, clock.now())
    die()
    const tasks = startProcess(
      'two',
      kindOf(async ({ cursor }) => ({ cursor: cursor as Json })),
    )
    await reaches(hold.id, 'done')
    expect(await taskById(database.db, hold.id)).toMatchObject({ attempts: 2, result: { cursor: { at: 7 } } })
    await tasks.stop()
  })

  test('is continued by its own process when the end of its run could not be recorded', async () => {
    const hold = await claimedBy('one')
    startProcess(
      'one',
      kindOf(async () => ({})),
    )
    await reaches(hold.id, 'done')
  })

  test('is left alone while its process lives', async () => {
    const hold = await claimedBy('alive')
    const quick: TaskKind = { kind: 'quick', leaderOnly: false, run: async () => ({}) }
    await startProcess(
      'two',
      kindOf(async () => ({})),
      quick,
    ).run({ ...request, kind: 'quick' })
    expect(await taskById(database.db, hold.id)).toMatchObject({ state: 'running', holder: hold.holder })
  })

  test('is taken over by one of several processes', async () => {
    const hold = await claimedBy('gone')
    dead.add('gone')
    let runs = 0
    const kind = kindOf(async () => ({ run: ++runs }))
    for (const id of ['one', 'two', 'three']) startProcess(id, kind)
    await reaches(hold.id, 'done')
    expect([runs, (await taskById(database.db, hold.id))?.attempts]).toEqual([1, 2])
  })

  test(`fails after ${MOST_ATTEMPTS} processes`, async () => {
    const { id } = await claimedBy('gone-1')
    for (let n = 2; n <= MOST_ATTEMPTS; n++)
      await claim(database.db, ['count'], `gone-${n}/run`, { own: [], dead: [`gone-${n - 1}`], now: clock.now() })
    expect((await taskById(database.db, id))?.holder).toBe(`gone-${MOST_ATTEMPTS}/run`)
    dead.add(`gone-${MOST_ATTEMPTS}`)
    startProcess(
      'two',
      kindOf(async () => ({})),
    )
    await reaches(id, 'failed')
    expect(await taskById(database.db, id)).toMatchObject({
      error: 'the process that ran the task ended unexpectedly 3 times',
      finished_at: clock.now(),
    })
  })

  test('is cancelled when it was being cancelled', async () => {
    const { id } = await claimedBy('gone')
    const tasks = process(
      'two',
      kindOf(async () => ({})),
    )
    expect((await tasks.cancel(id, async () => {})).state).toBe('cancelling')
    dead.add('gone')
    tasks.start()
    await reaches(id, 'cancelled')
  })

  test('accepts no more cursor, lines or result from a process that lost it', async () => {
    const { kind, runs, begun } = slowKind()
    const tasks = startProcess('one', kind)
    const { id } = await tasks.enqueue(request)
    await begun()
    // The first process only seems to be dead.
    dead.add('one')
    const second = slowKind()
    startProcess('two', second.kind)
    await second.begun()
    const { context } = runs[0]!
    await expect(context.save({ at: 'lost' })).rejects.toThrow('another process has taken the task over')
    expect(context.signal.aborted).toBe(true)
    context.line('lost')
    second.runs[0]!.context.line('kept')
    await second.runs[0]!.context.save({ at: 'kept' })
    runs[0]!.end({ by: 'lost' })
    second.runs[0]!.end({ by: 'two' })
    await reaches(id, 'done')
    expect(await taskById(database.db, id)).toMatchObject({ cursor: { at: 'kept' }, result: { by: 'two' } })
    expect((await linesAfter(database.db, id, 0)).map(({ message }) => message)).toEqual(['kept'])
  })

  test('aborts the work of a process that lost it', async () => {
    const { kind, runs, begun } = slowKind()
    const tasks = startProcess('one', kind)
    await tasks.enqueue(request)
    await begun()
    await database.db.updateTable('tasks').set({ holder: 'two/run' }).execute()
    await vi.waitFor(() => expect(runs[0]!.context.signal.aborted).toBe(true))
    expect((await lastTask(database.db, 'count', ''))?.state).toBe('running')
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
    await tasks.cancel((await lastTask(database.db, 'count', ''))!.id, async () => {})
    await waiting
  })

  test.each([
    ['done', async () => ({})],
    ['failed', () => Promise.reject(new Problem('upstream_error', 'no'))],
  ])('a task that is %s is refused', async (state, run) => {
    const tasks = startProcess('one', kindOf(run))
    await tasks.run(request).catch(() => {})
    const { id } = (await lastTask(database.db, 'count', ''))!
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

describe('a process that stops', () => {
  test('queues its tasks again with their cursors and without counting an attempt; the next process continues them', async () => {
    const { kind, runs, begun } = slowKind()
    const tasks = startProcess('one', kind)
    const waiting = expect(tasks.run(request)).rejects.toMatchObject({ code: 'shutting_down' })
    await begun()
    await runs[0]!.context.save({ at: 3 })
    await tasks.stop()
    await waiting
    const task = (await lastTask(database.db, 'count', ''))!
    expect(task).toMatchObject({ state: 'queued', attempts: 0, cursor: { at: 3 }, holder: null })
    // A request that comes meanwhile gets a run of its own.
    const later = await process('two').enqueue(request)
    expect(later.joined).toBe(false)
    const cursors: unknown[] = []
    startProcess(
      'two',
      kindOf(async ({ cursor }) => {
        cursors.push(cursor)
        return {}
      }),
    )
    await reaches(later.id, 'done')
    expect([cursors, await stateOf(task.id)]).toEqual([[{ at: 3 }, null], 'done'])
  })

  test('cancels a task that is being cancelled', async () => {
    const { kind, begun } = slowKind()
    const tasks = startProcess('one', kind)
    const { id } = await tasks.enqueue(request)
    await begun()
    await database.db.updateTable('tasks').set({ state: 'cancelling' }).where('id', '=', id).execute()
    await tasks.stop()
    expect(await stateOf(id)).toBe('cancelled')
  })

  test('begins no further task', async () => {
    const { kind, runs, begun } = slowKind()
    const tasks = startProcess('one', kind)
    await tasks.enqueue(request)
    await begun()
    await tasks.stop()
    await tasks.enqueue({ ...request, key: 'later' })
    await tasks.stop()
    expect(runs).toHaveLength(1)
  })
})

describe('lines', () => {
  test('are limited to the last ones, numbered from the first', async () => {
    const most = MOST_LINES + 250
    const tasks = startProcess(
      'one',
      kindOf(async ({ line, save }) => {
        for (let n = 1; n <= most; n++) {
          line(`line ${n}`)
          if (n % 50 === 0) await save({ n })
        }
        return {}
      }),
    )
    const { task_id: id } = await tasks.run(request)
    const { n } = await database.db
      .selectFrom('task_lines')
      .select((eb) => eb.fn.countAll<string>().as('n'))
      .executeTakeFirstOrThrow()
    expect(Number(n)).toBeLessThanOrEqual(MOST_LINES)
    expect(await lastLines(database.db, id, 2)).toMatchObject([
      { seq: most - 1, message: `line ${most - 1}` },
      { seq: most, message: `line ${most}` },
    ])
  })

  test('that come too fast are counted and left out', async () => {
    const tasks = startProcess(
      'one',
      kindOf(async ({ line }) => {
        for (let n = 1; n <= 500; n++) line('x'.repeat(5000), { text: 'y'.repeat(5000) })
        return {}
      }),
    )
    const { task_id: id } = await tasks.run(request)
    const [last] = await lastLines(database.db, id, 1)
    expect(last).toMatchObject({ seq: 202, level: 'warn', message: '299 lines were left out: they came too fast' })
    const [first] = await linesAfter(database.db, id, 0)
    expect(first).toMatchObject({ seq: 1, data: null })
    expect(first!.message).toHaveLength(1000)
  })

  test('are followed from any of them, to the end of the task', async () => {
    const { kind, runs, begun } = slowKind()
    const tasks = startProcess('one', kind)
    const { id } = await tasks.enqueue(request)
    await begun()
    const { context, end } = runs[0]!
    const following = tasks.follow(id, 1)
    const next = following.next()
    context.line('one')
    context.line('two')
    expect((await next).value).toMatchObject([{ seq: 2, message: 'two' }])
    end({ n: 2 })
    expect(await following.next()).toMatchObject({ done: true, value: { state: 'done', result: { n: 2 } } })
  })
})

test('tasks that ended 30 days ago are deleted with their lines, except the last of each kind and key', async () => {
  const tasks = startProcess(
    'one',
    kindOf(async ({ line }) => {
      line('done')
      return {}
    }),
  )
  const ids: number[] = []
  for (const key of ['', '', 'jammy']) ids.push((await tasks.run({ ...request, key })).task_id)
  time += 29 * DAY_MS
  ids.push((await tasks.run({ ...request, key: 'noble' })).task_id)
  await tasks.deleteEnded()
  expect((await taskPage(database.db, {}, { page: 1, perPage: 10 })).total).toBe(4)
  time += 2 * DAY_MS
  await tasks.deleteEnded()
  const { items, total } = await taskPage(database.db, { kind: 'count', state: 'done' }, { page: 1, perPage: 10 })
  expect([items.map(({ id }) => id), total]).toEqual([ids.slice(1).reverse(), 3])
  expect(await linesAfter(database.db, ids[0]!, 0)).toEqual([])
})

test('a database that fails is reported once, and the next round claims again', async () => {
  const tasks = startProcess(
    'one',
    kindOf(async () => ({})),
  )
  const { schema } = database.db
  await schema.alterTable('tasks').renameTo('tasks_gone').execute()
  await vi.waitFor(() => expect(logged.length).toBeGreaterThan(0))
  await schema.alterTable('tasks_gone').renameTo('tasks').execute()
  await tasks.run(request)
  expect(logged.map(({ msg }) => msg)).toEqual(['tasks cannot be read or claimed; trying again every few seconds'])
})
