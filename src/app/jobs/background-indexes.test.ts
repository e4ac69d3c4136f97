// When the background indexes of a distribution are queued, and what their task does.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import type { TaskContext, TaskState } from '../../domain/tasks.ts'
import type { Offered } from '../../formats/format.ts'
import { findDistribution } from '../../formats/index.ts'
import {
  BACKGROUND_INDEXES,
  backgroundIndexesKind,
  type BackgroundIndex,
} from '../../publish/background/background-index.ts'
import type { Database } from '../../store/db.ts'
import { createIndexQueue, QUIET_MS, RETRY_MS } from './background-indexes.ts'

const NOW = Date.parse('2026-03-05T00:00:00Z')
const ago = (ms: number) => new Date(NOW - ms)
let database: Database
let due: Set<string>
let queued: string[]
let logged: unknown[]

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  due = new Set(['jammy'])
  queued = []
  logged = []
  await database.db.deleteFrom('tasks').execute()
  await database.db.deleteFrom('distributions').execute()
  for (const codename of ['jammy', 'noble'])
    await database.db
      .insertInto('distributions')
      .values({
        ...{ codename, format: 'deb', published_at: ago(QUIET_MS + 1) },
        definition: JSON.stringify(offered(codename).distribution),
      })
      .execute()
})

const offered = (codename: string) => findDistribution(codename) as Offered
const queue = () =>
  createIndexQueue({
    db: database.db,
    clock: { now: () => new Date(NOW) },
    log: { error: (entry: unknown) => void logged.push(entry) },
    tasks: { enqueue: ({ key }) => Promise.resolve(void queued.push(key!)).then(() => ({ id: 1, joined: false })) },
    active: ['jammy', 'noble'].map(offered),
    indexes: [
      { isDue: () => Promise.resolve(false) },
      {
        isDue: ({ distribution: { codename } }) =>
          due.has('broken') && codename === 'jammy'
            ? Promise.reject(new Error('broken'))
            : Promise.resolve(due.has(codename)),
      },
    ],
  })()

test('only distributions with an index that is due are queued', async () => {
  await queue()
  expect(queued).toEqual(['jammy'])
})

test('a distribution is not queued soon after a publish', async () => {
  await database.db
    .updateTable('distributions')
    .set({ published_at: ago(QUIET_MS) })
    .execute()
  await queue()
  expect(queued).toEqual([])
})

test('a distribution that fails is logged and does not stop the others', async () => {
  due = new Set(['broken', 'noble'])
  await queue()
  expect([queued, logged]).toMatchObject([['noble'], [{ distribution: 'jammy' }]])
})

test.each<[TaskState, number, boolean]>([
  ['queued', 0, false],
  ['running', 0, false],
  ['cancelling', 0, false],
  ['done', 1, true],
  ['failed', RETRY_MS - 1, false],
  ['failed', RETRY_MS, true],
  ['cancelled', RETRY_MS - 1, false],
  ['cancelled', RETRY_MS, true],
])('after a task that is %s since %i ms, the next is queued: %s', async (state, since, expected) => {
  const ended = state === 'done' || state === 'failed' || state === 'cancelled'
  await database.db
    .insertInto('tasks')
    .values({
      ...{ kind: BACKGROUND_INDEXES, key: 'jammy', arguments: '{}', state, created_by: 'system' },
      ...{ created_at: ago(since), finished_at: ended ? ago(since) : null },
    })
    .execute()
  await queue()
  expect(queued).toEqual(expected ? ['jammy'] : [])
})

describe('the task', () => {
  const abort = new AbortController()
  const run = (key: string, ...indexes: BackgroundIndex[]) => {
    const lines: string[] = []
    const context = { key, signal: abort.signal, line: (message: string) => void lines.push(message) }
    const find = (codename: string) => findDistribution(codename)
    return backgroundIndexesKind({ indexes, find })
      .run(context as TaskContext)
      .then((result) => ({ result, lines }))
  }
  const index = (name: BackgroundIndex['name'], make: () => boolean): BackgroundIndex => ({
    name,
    isDue: () => Promise.resolve(true),
    make: () => Promise.resolve(make()),
  })

  test('makes what is due', async () => {
    const made = await run(
      'jammy',
      index('Contents', () => true),
      index('updateinfo', () => false),
    )
    expect(made).toEqual({ result: { made: ['Contents'] }, lines: ['Contents is published'] })
  })

  test('of a distribution that is gone does nothing', async () => {
    const made = await run(
      'warty',
      index('Contents', () => true),
    )
    expect(made).toEqual({ result: { made: [] }, lines: [] })
  })

  test('ends between two indexes when it is stopped', async () => {
    const stopped = run(
      'jammy',
      index('Contents', () => {
        abort.abort(new Error('cancelled'))
        return true
      }),
      index('updateinfo', () => expect.unreachable()),
    )
    await expect(stopped).rejects.toThrow('cancelled')
  })
})
