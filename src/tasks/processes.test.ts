// Several processes on one database: claims, take-overs and shutdown.
import { describe, expect, test } from 'vitest'
import type { Json } from '../domain/json.ts'
import type { TaskKind } from '../domain/tasks.ts'
import { kindOf, request, slowKind, useTaskBench } from './fixture.ts'
import { claim, DEAD_AFTER_MS, enqueue, MOST_ATTEMPTS, saveCursor } from './rows.ts'
import { lastTask, linesAfter, taskById } from './task-query.ts'

const { bench, clock, process, startProcess, stateOf, reaches } = useTaskBench()

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
    const { rows } = { rows: await bench.db.selectFrom('tasks').select(['state', 'attempts']).execute() }
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
    const quick: TaskKind = { kind: 'quick', lane: 'bulk', leaderOnly: false, run: async () => ({}) }
    const tasks = startProcess('one', kind, quick)
    const ids: number[] = []
    for (const key of ['a', 'b', 'c']) ids.push((await tasks.enqueue({ ...request, key })).id)
    await begun(2)
    // This one was queued last, so the process has already considered the third one.
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
  /** Claims the queued task for a process that then does nothing more. */
  async function claimedBy(instance: string) {
    const { id } = await enqueue(bench.db, request, clock.now())
    const holder = `${instance}/run`
    const task = await claim(bench.db, ['count'], holder, { own: [], dead: [], now: clock.now() })
    expect(task?.id).toBe(id)
    return { id, holder }
  }

  test.each([
    ['immediately when the process is known to be dead', () => void bench.dead.add('gone')],
    ['when its heartbeat is too old', () => void (bench.time += DEAD_AFTER_MS + 1)],
  ])('is taken over %s, and continues from its cursor', async (_, die) => {
    const hold = await claimedBy('gone')
    await saveCursor(bench.db, hold, { at: 7 }, clock.now())
    die()
    const tasks = startProcess(
      'two',
      kindOf(async ({ cursor }) => ({ cursor: cursor as Json })),
    )
    await reaches(hold.id, 'done')
    expect(await taskById(bench.db, hold.id)).toMatchObject({ attempts: 2, result: { cursor: { at: 7 } } })
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
    const quick: TaskKind = { kind: 'quick', lane: 'bulk', leaderOnly: false, run: async () => ({}) }
    await startProcess(
      'two',
      kindOf(async () => ({})),
      quick,
    ).run({ ...request, kind: 'quick' })
    expect(await taskById(bench.db, hold.id)).toMatchObject({ state: 'running', holder: hold.holder })
  })

  test('is taken over by one of several processes', async () => {
    const hold = await claimedBy('gone')
    bench.dead.add('gone')
    let runs = 0
    const kind = kindOf(async () => ({ run: ++runs }))
    for (const id of ['one', 'two', 'three']) startProcess(id, kind)
    await reaches(hold.id, 'done')
    expect([runs, (await taskById(bench.db, hold.id))?.attempts]).toEqual([1, 2])
  })

  test(`fails after ${MOST_ATTEMPTS} processes`, async () => {
    const { id } = await claimedBy('gone-1')
    for (let n = 2; n <= MOST_ATTEMPTS; n++)
      await claim(bench.db, ['count'], `gone-${n}/run`, { own: [], dead: [`gone-${n - 1}`], now: clock.now() })
    expect((await taskById(bench.db, id))?.holder).toBe(`gone-${MOST_ATTEMPTS}/run`)
    bench.dead.add(`gone-${MOST_ATTEMPTS}`)
    startProcess(
      'two',
      kindOf(async () => ({})),
    )
    await reaches(id, 'failed')
    expect(await taskById(bench.db, id)).toMatchObject({
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
    bench.dead.add('gone')
    tasks.start()
    await reaches(id, 'cancelled')
  })

  test('accepts no more cursor, lines or result from a process that lost it', async () => {
    const { kind, runs, begun } = slowKind()
    const tasks = startProcess('one', kind)
    const { id } = await tasks.enqueue(request)
    await begun()
    // The first process only seems to be dead.
    bench.dead.add('one')
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
    expect(await taskById(bench.db, id)).toMatchObject({ cursor: { at: 'kept' }, result: { by: 'two' } })
    expect((await linesAfter(bench.db, id, 0)).map(({ message }) => message)).toEqual(['kept'])
  })

  test('aborts the work of a process that lost it', async () => {
    const { kind, runs, begun } = slowKind()
    const tasks = startProcess('one', kind)
    await tasks.enqueue(request)
    await begun()
    await bench.db.updateTable('tasks').set({ holder: 'two/run' }).execute()
    await expect.poll(() => runs[0]!.context.signal.aborted).toBe(true)
    expect((await lastTask(bench.db, 'count', ''))?.state).toBe('running')
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
    const task = (await lastTask(bench.db, 'count', ''))!
    expect(task).toMatchObject({ state: 'queued', attempts: 0, cursor: { at: 3 }, holder: null })
    // A request that arrives meanwhile gets a separate run.
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
    await bench.db.updateTable('tasks').set({ state: 'cancelling' }).where('id', '=', id).execute()
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

test('a database that fails is reported once, and the next round claims again', async () => {
  const tasks = startProcess(
    'one',
    kindOf(async () => ({})),
  )
  const { schema } = bench.db
  await schema.alterTable('tasks').renameTo('tasks_gone').execute()
  await expect.poll(() => bench.logged.length).toBeGreaterThan(0)
  await schema.alterTable('tasks_gone').renameTo('tasks').execute()
  await tasks.run(request)
  expect(bench.logged.map(({ msg }) => msg)).toEqual([
    'tasks cannot be read or claimed; trying again every few seconds',
  ])
})

describe('lanes', () => {
  test('of bulk work that fill up keep no backup and no deletion waiting, nor the syncs that mirrors wait for', async () => {
    const [imports, mirrors] = [slowKind({ kind: 'import', atOnce: 2 }), slowKind({ kind: 'mirror', atOnce: 2 })]
    const others = (['interactive', 'maintenance', 'sync'] as const).map((lane) => slowKind({ kind: lane, lane }))
    const tasks = startProcess('one', ...[imports, mirrors, ...others].map(({ kind }) => kind))
    for (const kind of ['import', 'mirror'])
      for (const key of ['a', 'b', 'c']) await tasks.enqueue({ kind, key, createdBy: 'ann' })
    await imports.begun(2)
    await mirrors.begun(2)
    for (const { kind } of others) await tasks.enqueue({ kind: kind.kind, createdBy: 'ann' })
    for (const { begun } of others) await begun()
    // A free slot goes to the next task of its lane.
    imports.runs[0]!.end()
    await imports.begun(3)
    expect([imports.runs.length, mirrors.runs.length]).toEqual([3, 2])
  })

  test('have a bound of their own, whatever their kinds allow', async () => {
    const slow = slowKind({ lane: 'sync', atOnce: 9 })
    const last = slowKind({ kind: 'last', lane: 'maintenance' })
    const tasks = startProcess('one', slow.kind, last.kind)
    for (let n = 0; n < 4; n++) await tasks.enqueue({ ...request, key: `${n}` })
    await slow.begun(2)
    // A later round of the same process has claimed this one, but no third task of the full lane.
    await tasks.enqueue({ kind: 'last', createdBy: 'ann' })
    await last.begun()
    expect(slow.runs).toHaveLength(2)
  })
})
