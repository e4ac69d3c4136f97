// What remains of a task: its lines, and how long it is kept.
import { describe, expect, test } from 'vitest'
import { DAY_MS } from '../domain/durations.ts'
import { kindOf, request, slowKind, useTaskBench } from './fixture.ts'
import { MOST_LINES } from './lines.ts'
import { lastLines, linesAfter, taskPage } from './task-query.ts'

const { bench, startProcess } = useTaskBench()

describe('lines', () => {
  test('are limited to the last ones, numbered from the first', async () => {
    const most = MOST_LINES + 250
    const written = async () => {
      const { last } = await bench.db
        .selectFrom('task_lines')
        .select((eb) => eb.fn.max('seq').as('last'))
        .executeTakeFirstOrThrow()
      return last
    }
    const tasks = startProcess(
      'one',
      kindOf(async ({ line }) => {
        for (let n = 1; n <= most; n++) {
          line(`line ${n}`)
          // Lines that arrive faster than the database writes them are left out.
          if (n % 50 === 0) await expect.poll(written, { interval: 5 }).toBe(n)
        }
        return {}
      }),
    )
    const { task_id: id } = await tasks.run(request)
    const { n } = await bench.db
      .selectFrom('task_lines')
      .select((eb) => eb.fn.countAll<string>().as('n'))
      .executeTakeFirstOrThrow()
    expect(Number(n)).toBeLessThanOrEqual(MOST_LINES)
    expect(await lastLines(bench.db, id, 2)).toMatchObject([
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
    const [last] = await lastLines(bench.db, id, 1)
    expect(last).toMatchObject({ seq: 202, level: 'warn', message: '299 lines were left out: they came too fast' })
    const [first] = await linesAfter(bench.db, id, 0)
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
  bench.time += 29 * DAY_MS
  ids.push((await tasks.run({ ...request, key: 'noble' })).task_id)
  await tasks.deleteEnded()
  expect((await taskPage(bench.db, {}, { page: 1, perPage: 10 })).total).toBe(4)
  bench.time += 2 * DAY_MS
  await tasks.deleteEnded()
  const { items, total } = await taskPage(bench.db, { kind: 'count', state: 'done' }, { page: 1, perPage: 10 })
  expect([items.map(({ id }) => id), total]).toEqual([ids.slice(1).reverse(), 3])
  expect(await linesAfter(bench.db, ids[0]!, 0)).toEqual([])
})
