// Tasks of two processes on one database and one Redis: what each learns about the other without polling.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createLog } from '../../src/kernel/log.ts'
import { createRedis, type Redis } from '../../src/store/redis/connection.ts'
import { createEvents, type SharedEvents } from '../../src/store/redis/events.ts'
import { createLiveLines } from '../../src/store/redis/live-lines.ts'
import { kindOf, request, slowKind, useTaskBench } from '../../src/tasks/fixture.ts'
import { linesAfter, taskById } from '../../src/tasks/task-query.ts'
import type { Tasks } from '../../src/tasks/tasks.ts'
import { startRedis, type RedisServer } from './redis-server.ts'

const { bench, processWith, reaches } = useTaskBench()
const log = createLog('silent')
/** No process polls for changes within a test. */
const NEVER_MS = 3_600_000
/** Redis may answer late on a machine that stalls. */
const TIMES = { checkMs: 100, commandMs: 600_000 }

interface Replica {
  redis: Redis
  events: SharedEvents
}
let server: RedisServer
let replicas: [Replica, Replica]
let runs = 0
beforeAll(async () => void (server = await startRedis()))
afterAll(() => server?.remove())
beforeEach(async () => {
  runs++
  const replica = (): Replica => {
    const redis = createRedis({ url: server.url, namespace: `run${runs}`, carries: [], log, ...TIMES })
    const events = createEvents({ redis, log })
    redis.start()
    return { redis, events }
  }
  replicas = [replica(), replica()]
  await expect.poll(() => replicas.every(({ events }) => events.areUp())).toBe(true)
})
afterEach(() => {
  for (const { redis, events } of replicas) {
    events.close()
    redis.close()
  }
})

function start(which: 0 | 1, ...kinds: Parameters<typeof processWith>[2][]) {
  const { redis, events } = replicas[which]
  const more = { events, live: createLiveLines(redis), tickMs: NEVER_MS, pollMs: NEVER_MS }
  const tasks = processWith(more, which === 0 ? 'one' : 'two', ...kinds)
  tasks.start()
  return tasks
}

/** The messages of the next lines, at least this many. */
async function messagesOf(following: ReturnType<Tasks['follow']>, count: number): Promise<string[]> {
  const shown: string[] = []
  while (shown.length < count) {
    const { value, done } = await following.next()
    if (done) break
    shown.push(...value.map(({ message }) => message))
  }
  return shown
}

it('a task is begun, followed and cancelled from another replica immediately', async () => {
  const { kind, runs, begun } = slowKind()
  start(0, kind)
  const other = start(1)
  const { id } = await other.enqueue(request)
  await begun()
  const following = other.follow(id)
  const first = following.next()
  runs[0]!.context.line('half done', { percent: 50 })
  expect((await first).value).toMatchObject([{ seq: 1, level: 'info', message: 'half done', data: { percent: 50 } }])
  const task = (await taskById(bench.db, id))!
  expect(await other.lastLines(task, 10)).toMatchObject([{ seq: 1, message: 'half done' }])
  const end = following.next()
  await other.cancel(id, async () => {})
  expect(await end).toMatchObject({ done: true, value: { state: 'cancelled', line_count: 1 } })
  expect(await linesAfter(bench.db, id, 0)).toHaveLength(1)
})

it('many lines are written to the database in few statements, each once and in order', async () => {
  const lines = Array.from({ length: 40 }, (_, n) => `line ${n}`)
  const { kind, runs, begun } = slowKind()
  const tasks = start(0, kind)
  const { id } = await tasks.enqueue(request)
  await begun()
  for (const text of lines) {
    runs[0]!.context.line(text)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const following = start(1).follow(id)
  expect(await messagesOf(following, lines.length)).toEqual(lines)
  runs[0]!.end()
  await reaches(id, 'done')
  expect((await linesAfter(bench.db, id, 0)).map(({ seq, message }) => [seq, message])).toEqual(
    lines.map((text, n) => [n + 1, text]),
  )
})

it('lines that a dead process only showed are written by the one that takes over, and numbers go on after them', async () => {
  const { kind, begun } = slowKind()
  const { id } = await start(0, kind).enqueue(request)
  await begun()
  const value = (message: string) => JSON.stringify({ at: new Date(bench.time), level: 'info', message, data: null })
  const live = createLiveLines(replicas[0].redis)
  await live.add({ id, attempt: 1 }, [
    { seq: 1, value: value('shown') },
    { seq: 2, value: 'garbage' },
    { seq: 3, value: value('shown too') },
  ])
  bench.dead.add('one')
  const second = start(
    1,
    kindOf(async ({ line }) => {
      line('taken over')
      return {}
    }),
  )
  await second.ended(id)
  expect((await linesAfter(bench.db, id, 0)).map(({ seq, message }) => [seq, message])).toEqual([
    [1, 'shown'],
    [3, 'shown too'],
    [4, 'taken over'],
  ])
})

it('lines reach followers through the database when Redis dies in the middle of a task', async () => {
  const { kind, runs, begun } = slowKind()
  const { redis, events } = replicas[0]
  const tasks = processWith({ events, live: createLiveLines(redis) }, 'one', kind)
  tasks.start()
  const { id } = await tasks.enqueue(request)
  await begun()
  const { line } = runs[0]!.context
  line('before')
  await server.kill()
  try {
    line('while it dies')
    await expect.poll(() => redis.isUp()).toBe(false)
    line('after')
    expect(await messagesOf(tasks.follow(id), 3)).toEqual(['before', 'while it dies', 'after'])
    runs[0]!.end()
    await reaches(id, 'done')
    expect(await linesAfter(bench.db, id, 0)).toHaveLength(3)
  } finally {
    await server.start()
  }
})
