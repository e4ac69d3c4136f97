// Shared by tests of tasks: processes on one database, a clock, and kinds of tasks.
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import type { Json } from '../domain/json.ts'
import type { TaskContext, TaskKind } from '../domain/tasks.ts'
import { createLog } from '../kernel/log.ts'
import { LOCAL_EVENTS } from '../store/redis/events.ts'
import { NO_LIVE_LINES } from '../store/redis/live-lines.ts'
import type { Database } from '../store/db.ts'
import { taskById } from './task-query.ts'
import { createTasks, type Tasks } from './tasks.ts'

/** Opens a database for the tests of a file. Each test begins without tasks, and its processes stop after it. */
export function useTaskBench() {
  let database: Database
  let started: Tasks[]
  const bench = {
    get db() {
      return database.db
    },
    time: 0,
    /** processes that are known to be dead */
    dead: new Set<string>(),
    logged: [] as { level: string; msg: string }[],
  }
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    started = []
    Object.assign(bench, { time: Date.parse('2026-03-05T00:00:00Z'), dead: new Set(), logged: [] })
    await bench.db.deleteFrom('tasks').execute()
  })
  afterEach(async () => {
    await Promise.all(started.map((tasks) => tasks.stop()))
  })

  const clock = { now: () => new Date(bench.time) }
  const log = createLog('warn', { write: (line) => void bench.logged.push(JSON.parse(line) as never) })

  /** The tasks of one process; the process `one` is the leader. */
  const process = (instanceId: string, ...kinds: TaskKind[]) => processWith({}, instanceId, ...kinds)
  function processWith(
    more: Partial<Parameters<typeof createTasks>[0]>,
    instanceId: string,
    ...kinds: TaskKind[]
  ): Tasks {
    const tasks = createTasks({
      ...{ db: bench.db, clock, log, instanceId, kinds },
      checkpoint: () => {},
      events: LOCAL_EVENTS,
      live: NO_LIVE_LINES,
      isDead: (id) => Promise.resolve(bench.dead.has(id)),
      isLeader: () => instanceId === 'one',
      ...{ tickMs: 20, pollMs: 20 },
      ...more,
    })
    started.push(tasks)
    return tasks
  }

  const stateOf = async (id: number) => (await taskById(bench.db, id))?.state
  const tools = {
    clock,
    process,
    processWith,
    startProcess(instanceId: string, ...kinds: TaskKind[]): Tasks {
      const tasks = process(instanceId, ...kinds)
      tasks.start()
      return tasks
    },
    /** messages that were logged as errors */
    errors: () => bench.logged.filter(({ level }) => level === 'error').map(({ msg }) => msg),
    stateOf,
    reaches: (id: number, state: string) => expect.poll(() => stateOf(id), { interval: 20 }).toBe(state),
  }
  return { bench, ...tools }
}

export const request = { kind: 'count', createdBy: 'ann' }

export const kindOf = (run: TaskKind['run'], more: Partial<TaskKind> = {}): TaskKind => ({
  kind: 'count',
  lane: 'bulk',
  leaderOnly: false,
  run,
  ...more,
})

/** A kind whose runs wait until the test lets them end, or until they are aborted. */
export function slowKind(more: Partial<TaskKind> = {}) {
  const runs: { context: TaskContext; end(result?: Json): void; fail(error: Error): void }[] = []
  const kind = kindOf(
    (context) =>
      new Promise((resolve, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason as Error))
        runs.push({ context, end: (result = {}) => resolve(result), fail: reject })
      }),
    more,
  )
  const begun = (n = 1) => expect.poll(() => runs.length).toBeGreaterThanOrEqual(n)
  return { kind, runs, begun }
}
