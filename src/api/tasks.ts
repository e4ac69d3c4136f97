// /tasks: long work that is queued, running or ended.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../domain/caller.ts'
import { Problem } from '../domain/problem.ts'
import { mayAccess } from '../domain/roles.ts'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { AuditLog } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import type { TaskRow } from '../store/tables.ts'
import { lastLines, taskById, taskPage, type TaskLine } from '../tasks/task-query.ts'
import type { Tasks } from '../tasks/tasks.ts'
import { handle, type Route } from './route.ts'
import { page } from './schemas.ts'
import { createOpenStreams, openStream } from './sse.ts'
import { getTasks, getTasksId, getTasksIdStream, postTasksIdCancel } from './tasks.contract.ts'

export interface TaskDeps {
  db: Db
  log: Log
  audit: Pick<AuditLog, 'record'>
  tasks: Pick<Tasks, 'follow' | 'cancel'>
  authenticate(authorization: string | undefined): Promise<Caller>
}

/** Lines in the answer for one task. */
const LINES_SHOWN = 100
/** How often an open stream checks that its caller may still read it, in milliseconds. */
const RECHECK_MS = 15_000

export function taskRoutes(deps: TaskDeps): Route[] {
  const { db } = deps
  const openOne = createOpenStreams()
  return [
    handle(getTasks, async ({ query }) => {
      const { items, total } = await taskPage(db, query, { page: query.page, perPage: query.per_page })
      return page(items.map(viewOf), total, query)
    }),
    handle(getTasksId, async ({ params: { id } }) => {
      const lines = await lastLines(db, id, LINES_SHOWN)
      return { ...viewOf(await taskOf(db, id)), lines: lines.map(lineOf) }
    }),
    handle(getTasksIdStream, async ({ params: { id }, caller, raw, reply }) => {
      await taskOf(db, id)
      const closed = openOne(caller.principal)
      await stream(deps, id, raw, reply).finally(closed)
      return undefined
    }),
    handle(postTasksIdCancel, async ({ params: { id }, caller, origin }) => {
      const task = await deps.tasks.cancel(id, ({ kind, key, state }, tx) =>
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
      return viewOf(task)
    }),
  ]
}

async function taskOf(db: Db, id: number): Promise<TaskRow> {
  const task = await taskById(db, id)
  if (!task) throw new Problem('not_found', `there is no task ${id}`)
  return task
}

/** Sends each line with its `seq` as the event id, then `end` with the task. A stopping service ends the stream without it. */
async function stream(
  { tasks, authenticate, log }: TaskDeps,
  id: number,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { authorization } = request.headers
  const closed = new AbortController()
  const events = openStream(reply, { heartbeat: true })
  reply.raw.on('close', () => closed.abort())
  const recheck = setInterval(() => {
    authenticate(authorization).then(
      ({ role }) => {
        if (!mayAccess(role, 'auditor+')) closed.abort()
      },
      () => closed.abort(),
    )
  }, RECHECK_MS)
  try {
    const following = tasks.follow(id, lastEventOf(request), closed.signal)
    for (;;) {
      const { value, done } = await following.next()
      if (!done) for (const line of value) events.send(lineOf(line), 'line', String(line.seq))
      else if (value) events.send(viewOf(value), 'end')
      if (done || events.closed) break
    }
  } catch (error) {
    // The headers are sent: the client connects again and gets the error with its status.
    log.warn({ err: error, task: id, request_id: request.id }, 'a stream of a task ended early')
  } finally {
    clearInterval(recheck)
    events.close()
  }
}

/** The `Last-Event-ID` of a client that connects again: https://html.spec.whatwg.org/multipage/server-sent-events.html */
function lastEventOf({ headers }: FastifyRequest): number {
  const id = Number(headers['last-event-id'])
  return Number.isSafeInteger(id) && id > 0 && id < 2 ** 31 ? id : 0
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
