// Long work as rows: requesting it, its lines and its end, cancelling it, and the runner that executes it.
import { DAY_MS } from '../domain/durations.ts'
import { PROBLEM_CODES, Problem, type ProblemCode } from '../domain/problem.ts'
import type { Json } from '../domain/json.ts'
import { isEnded, isHeld, TaskCancelled, type TaskRequest } from '../domain/tasks.ts'
import type { Db } from '../store/db.ts'
import { transaction } from '../store/transaction.ts'
import type { TaskRow } from '../store/tables.ts'
import { createChanges } from './changes.ts'
import { MOST_LINES, readLive } from './lines.ts'
import { cancel, countEnded, deleteEnded, enqueue, kindsOfTasks } from './rows.ts'
import { createRunner, type RunnerDeps } from './runner.ts'
import { lastLines, linesAfter, taskById, type TaskLine } from './task-query.ts'

/** How often a task of another process is read again. */
const POLL_MS = 1_000
const KEPT_DAYS = 30
/** How long the last task of a kind and key is kept: a key may be a name that is never used again. */
const LAST_KEPT_DAYS = 365

export interface Tasks {
  /**
   * Queues a task, or joins one of the same kind and key that has not begun.
   * @param within runs in the same transaction, with the id of the task
   */
  enqueue(
    request: TaskRequest,
    within?: (tx: Db, id: number) => Promise<void>,
  ): Promise<{ id: number; joined: boolean }>
  /**
   * Queues a task and waits for its end.
   * @param onLine called with each of its lines
   * @returns the result, and the id as `task_id`
   * @throws Problem with the code of a failed task; `task_cancelled`; `shutting_down` when this process stops first
   */
  run(request: TaskRequest, onLine?: (line: TaskLine) => void): Promise<Json & { task_id: number }>
  /** Waits for the end of a task as `run` does. @throws as `run`; Problem('not_found') */
  ended(id: number, onLine?: (line: TaskLine) => void): Promise<Json & { task_id: number }>
  /**
   * Yields the lines after this one as they arrive, until the task ends. @returns the task; null when this process stops
   * @throws Problem('not_found')
   */
  follow(id: number, seq?: number, signal?: AbortSignal): AsyncGenerator<TaskLine[], TaskRow | null>
  /** The last lines of a task, in order. */
  lastLines(task: TaskRow, most: number): Promise<TaskLine[]>
  /**
   * Cancels a queued task, or asks the process that runs it to end.
   * @param within runs in the transaction of the change
   * @throws Problem('not_found'), Problem('task_ended')
   */
  cancel(id: number, within: (task: TaskRow, tx: Db) => Promise<void>): Promise<TaskRow>
  /** Deletes tasks that ended 30 days ago; the last one of each kind and key after a year. @returns their number */
  deleteEnded(): Promise<number>
  /** Number of tasks that `deleteEnded` would delete. */
  countEnded(): Promise<number>
  /** Starts to run tasks. */
  start(): void
  /** Queues the running tasks again, with their cursors, and ends all waits for tasks. */
  stop(): Promise<void>
}

/**
 * @param deps.keptDays how many days ended tasks of a kind are kept; null for 30
 * @param deps.pollMs for tests
 */
export function createTasks(
  deps: Omit<RunnerDeps, 'changes'> & { keptDays?: (kind: string) => number | null; pollMs?: number },
): Tasks {
  const { db, clock, pollMs = POLL_MS, keptDays = () => null } = deps
  const changes = createChanges(deps.events)
  const runner = createRunner({ ...deps, changes })
  let stopping = false

  async function add(request: TaskRequest, within?: (tx: Db, id: number) => Promise<void>) {
    const task = within
      ? await transaction(db, async (tx) => {
          const queued = await enqueue(tx, request, clock.now())
          await within(tx, queued.id)
          return queued
        })
      : await enqueue(db, request, clock.now())
    runner.wakeAll()
    return task
  }

  async function existing(id: number): Promise<TaskRow> {
    const task = await taskById(db, id)
    if (!task) throw new Problem('not_found', `there is no task ${id}`)
    return task
  }

  /** Lines that are not in the database yet. */
  async function liveAfter(task: TaskRow, seq: number): Promise<TaskLine[]> {
    if (!isHeld(task.state)) return []
    const lines = await deps.live.after({ id: task.id, attempt: task.attempts }, seq, MOST_LINES)
    return lines.map(readLive).filter((line) => line !== null)
  }

  async function* follow(id: number, seq = 0, signal?: AbortSignal): AsyncGenerator<TaskLine[], TaskRow | null> {
    for (let last = seq; ;) {
      const change = changes.next(id, pollMs)
      // Lines are written before the end is, so an ended task has all of its lines.
      const task = await existing(id)
      for (;;) {
        const lines = await linesAfter(db, id, last)
        if (lines.length === 0) break
        yield lines
        last = lines.at(-1)!.seq
      }
      const live = isEnded(task.state) ? [] : await liveAfter(task, last)
      if (live.length > 0) {
        yield live
        last = live.at(-1)!.seq
      }
      if (isEnded(task.state)) return task
      if (stopping || signal?.aborted) return null
      await change
    }
  }

  async function followed(id: number, onLine: (line: TaskLine) => void): Promise<TaskRow | null> {
    const following = follow(id)
    for (;;) {
      const { value, done } = await following.next()
      if (done) return value
      value.forEach(onLine)
    }
  }

  const ended: Tasks['ended'] = async (id, onLine = () => {}) => {
    const task = await followed(id, onLine)
    if (!task) throw new Problem('shutting_down', 'the service is stopping; the task goes on after it', { task_id: id })
    if (task.state === 'done') return { ...task.result, task_id: id }
    throw problemOf(task)
  }

  /** The times before which tasks of a kind must have ended to be deleted: for all tasks, and for the last one of a key. */
  function limitsOf(kind: string): [Date, Date] {
    const days = keptDays(kind) ?? KEPT_DAYS
    const ago = (n: number) => new Date(clock.now().getTime() - n * DAY_MS)
    return [ago(days), ago(Math.max(days, LAST_KEPT_DAYS))]
  }

  return {
    enqueue: add,
    follow,
    ended,
    async lastLines(task, most) {
      const written = await lastLines(db, task.id, most)
      return [...written, ...(await liveAfter(task, written.at(-1)?.seq ?? 0))].slice(-most)
    },
    run: async (request, onLine) => ended((await add(request)).id, onLine),
    async cancel(id, within) {
      const cancelled = await transaction(db, async (tx) => {
        const task = await cancel(tx, id, clock.now())
        if (task) await within(task, tx)
        return task
      })
      if (!cancelled) {
        const { state } = await existing(id)
        throw new Problem('task_ended', `the task has ended: it is ${state}`, { state })
      }
      runner.abort(id, new TaskCancelled())
      changes.note(id)
      // So the replica that runs it learns of it now, and not with its next heartbeat.
      runner.wakeAll()
      return cancelled
    },
    async deleteEnded() {
      let deleted = 0
      for (const kind of await kindsOfTasks(db)) {
        for (let n = -1; n !== 0; deleted += n) n = await deleteEnded(db, kind, ...limitsOf(kind))
      }
      return deleted
    },
    async countEnded() {
      let total = 0
      for (const kind of await kindsOfTasks(db)) total += await countEnded(db, kind, ...limitsOf(kind))
      return total
    },
    start: runner.start,
    async stop() {
      stopping = true
      changes.noteAll()
      await runner.stop()
    },
  }
}

/** The failure of a task, for the caller that waits for it. */
function problemOf(task: TaskRow): Problem {
  const extra = {
    ...task.error_extra,
    task_id: task.id,
    ...(task.request_id === null ? {} : { request_id: task.request_id }),
  }
  if (task.state === 'cancelled') return new Problem('task_cancelled', 'the task was cancelled', extra)
  const code = PROBLEM_CODES.find((known) => known === task.error_code) ?? ('internal_error' satisfies ProblemCode)
  return new Problem(code, task.error ?? 'the task failed', extra)
}
