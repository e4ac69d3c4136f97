// One run of a claimed task: what its work gets, and how the run ends.
import type { Json } from '../domain/json.ts'
import { isProblem } from '../domain/problem.ts'
import type { TaskContext, TaskKind } from '../domain/tasks.ts'
import type { Checkpoint } from '../kernel/checkpoint.ts'
import type { Clock } from '../kernel/clock.ts'
import { failureOf } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import { trace } from '../kernel/trace.ts'
import { runWork, type Work } from '../kernel/work.ts'
import type { Db } from '../store/db.ts'
import type { LiveLines } from '../store/redis/live-lines.ts'
import type { TaskRow } from '../store/tables.ts'
import type { Changes } from './changes.ts'
import { createTaskLines } from './lines.ts'
import { endRun, enqueue, saveCursor, type Hold, type Outcome } from './rows.ts'

export interface RunDeps {
  db: Db
  clock: Clock
  log: Log
  changes: Changes
  checkpoint: Checkpoint
  /** lines of running tasks that other replicas see before they are in the database */
  live: LiveLines
  /** to be called when the work queued another task */
  wakeAll(): void
}

/** The reason of an abort. It never reaches a client. */
export class TaskStopped extends Error {}

/** Runs a claimed task to its end, records its outcome, and logs it. @param controller aborts the run */
export async function runTask(
  deps: RunDeps,
  task: TaskRow,
  hold: Hold,
  kind: TaskKind,
  controller: AbortController,
): Promise<void> {
  const { db, clock, log } = deps
  const { id } = task
  const { signal } = controller
  const lines = createTaskLines({
    ...{ db, clock, hold, task },
    live: deps.live,
    added: () => deps.changes.note(id),
    onError: (error) => log.warn({ err: error, task: id }, 'lines of a task could not be written'),
  })
  await lines.adopt()
  const work = () =>
    trace(`task ${kind.kind}`, { 'gatehouse.task_id': task.id, 'gatehouse.attempt': task.attempts }, async () =>
      kind.run(contextOf(deps, task, hold, controller, lines.add)),
    )
  let end!: (outcome: Outcome) => void
  const broken = new Promise<Outcome>((resolve) => (end = resolve))
  const running: Work = {
    kind: 'task',
    about: () => ({ task: id, kind: kind.kind, key: task.key }),
    fail(error) {
      end(failed(error))
      controller.abort(new TaskStopped('an error that nothing caught'))
    },
    isOver: false,
  }
  const ran = runWork(running, work).then(
    (result): Outcome => ({ event: 'succeed', result }),
    (error: unknown) => outcomeOf(log, error, task, signal),
  )
  const outcome = await Promise.race([broken, ran])
  running.isOver = true
  await lines.flush()
  const ended = await endRun(db, hold, outcome, clock.now())
  const { kind: name, key } = task
  if (ended) log.info({ task: id, kind: name, key, state: ended.state, result: ended.result }, 'task ran')
}

function contextOf(
  deps: RunDeps,
  task: TaskRow,
  hold: Hold,
  controller: AbortController,
  line: TaskContext['line'],
): TaskContext {
  const { db, clock } = deps
  const { signal } = controller
  return {
    id: task.id,
    key: task.key,
    arguments: task.arguments,
    attempt: task.attempts,
    cursor: task.cursor,
    signal,
    line,
    async save(cursor) {
      signal.throwIfAborted()
      if (await saveCursor(db, hold, cursor, clock.now())) {
        deps.checkpoint('task-saved')
        return
      }
      controller.abort(new TaskStopped('another process has taken the task over'))
      signal.throwIfAborted()
    },
    async enqueue(request) {
      const { created_by: createdBy, request_id: requestId } = task
      const { id } = await enqueue(db, { ...request, createdBy, requestId }, clock.now())
      deps.wakeAll()
      return id
    },
  }
}

function outcomeOf(log: Log, error: unknown, { id, kind }: TaskRow, signal: AbortSignal): Outcome {
  if (signal.aborted) {
    if (error !== signal.reason) log.warn({ err: error, task: id, kind }, 'task failed while it was stopped')
    return { event: 'stop' }
  }
  if (failureOf(error).isUnexpected) log.error({ err: error, task: id, kind }, 'task failed')
  return failed(error)
}

function failed(error: unknown): Outcome {
  const { code, detail } = failureOf(error)
  const extra = isProblem(error) ? { extra: JSON.parse(JSON.stringify(error.extra)) as Json } : {}
  return { event: 'fail', code, detail, ...extra }
}
