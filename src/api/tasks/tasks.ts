// /tasks: long work that is queued, running or ended.
import type { Origin } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../domain/problem.ts'
import { isoTime, isoTimeOrNull } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { AuditLog } from '../../audit/log.ts'
import type { Db } from '../../store/db.ts'
import type { TaskRow } from '../../store/tables.ts'
import { taskById, taskPage, type TaskLine } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { createOpenStreams } from '../http/sse.ts'
import { lastEventOf, streamTask } from './stream.ts'
import { getTasks, getTasksId, getTasksIdStream, postTasksIdCancel } from './tasks.contract.ts'

export interface TaskDeps {
  db: Db
  log: Log
  audit: Pick<AuditLog, 'record'>
  tasks: Pick<Tasks, 'follow' | 'cancel' | 'lastLines'>
  authenticate(authorization: string | undefined): Promise<Caller>
}

/** Lines in the answer for one task. */
const LINES_SHOWN = 100

export function taskRoutes(deps: TaskDeps): Route[] {
  const { db } = deps
  const openOne = createOpenStreams()
  return [
    handle(getTasks, async ({ query }) => {
      const { items, total } = await taskPage(db, query, { page: query.page, perPage: query.per_page })
      return page(items.map(viewOf), total, query)
    }),
    handle(getTasksId, async ({ params: { id } }) => {
      const task = await taskOf(db, id)
      const lines = await deps.tasks.lastLines(task, LINES_SHOWN)
      const lines_total = Math.max(task.line_count, lines.at(-1)?.seq ?? 0)
      return { ...viewOf(task), lines_total, lines: lines.map(lineOf) }
    }),
    handle(getTasksIdStream, async ({ params: { id }, caller, raw, reply }) => {
      await taskOf(db, id)
      const closed = openOne(caller.principal)
      await streamTask(
        deps,
        {
          ...{ id, after: lastEventOf(raw), access: getTasksIdStream.access },
          line: (events, line) => events.send(lineOf(line), 'line', String(line.seq)),
          end: (events, task) => events.send(viewOf(task), 'end'),
        },
        raw,
        reply,
      ).finally(closed)
      return undefined
    }),
    handle(postTasksIdCancel, async ({ params: { id }, caller, origin }) => {
      return viewOf(await cancelTask(deps, id, caller, origin))
    }),
  ]
}

/** Cancels a task and records who did. @throws Problem('not_found', 'task_ended') */
export function cancelTask(
  deps: { tasks: Pick<Tasks, 'cancel'>; audit: Pick<AuditLog, 'record'> },
  id: number,
  caller: Caller,
  origin: Origin,
): Promise<TaskRow> {
  return deps.tasks.cancel(id, ({ kind, key, state }, tx) =>
    deps.audit.record(
      {
        action: 'TASK_CANCEL',
        result: 'SUCCESS',
        user: caller.name,
        outcome: state,
        detail: `task ${id}: ${[kind, key].filter(Boolean).join(' ')}`,
        ip: origin.ip,
        requestId: origin.requestId,
        extra: { task_id: id, kind, key },
      },
      tx,
    ),
  )
}

async function taskOf(db: Db, id: number): Promise<TaskRow> {
  const task = await taskById(db, id)
  if (!task) throw new Problem('not_found', `there is no task ${id}`)
  return task
}

function viewOf(task: TaskRow) {
  return {
    id: task.id,
    kind: task.kind,
    key: task.key,
    state: task.state,
    arguments: task.arguments,
    attempts: task.attempts,
    created_at: isoTime(task.created_at),
    created_by: task.created_by,
    request_id: task.request_id,
    started_at: isoTimeOrNull(task.started_at),
    finished_at: isoTimeOrNull(task.finished_at),
    result: task.result,
    error: task.error_code === null ? null : { code: task.error_code, detail: task.error ?? '' },
    lines_total: task.line_count,
  }
}

const lineOf = (line: TaskLine) => ({ ...line, at: isoTime(line.at) })
