// Jobs of imports: tasks of a few kinds, as /import shows them.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../domain/roles.ts'
import { Problem } from '../../domain/problem.ts'
import { isEnded } from '../../domain/tasks.ts'
import { isoTimeOrNull } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import type { TaskRow } from '../../store/tables.ts'
import { taskById } from '../../tasks/task-query.ts'
import { lastEventOf, streamTask, type TaskStreamDeps } from '../tasks/stream.ts'

/** The keys that the cursor and the result of such a task share. */
interface Progress {
  total?: number | null
  done_count?: number
  error_count?: number
}

/** @param progress for kinds of tasks that store it elsewhere */
export function jobOf(task: TaskRow, progress = (task.result ?? task.cursor ?? {}) as Progress) {
  const { label, source_ids: ids } = task.arguments as { label?: string; source_ids?: unknown[] }
  const { done_count = 0, error_count = 0 } = progress
  // A mirror that failed before it had its list does not know how many packages there are.
  const total = progress.total ?? ids?.length ?? 0
  return {
    job_id: task.id,
    label: label ?? [task.kind, task.key].filter(Boolean).join(' '),
    status: statusOf(task, { total, done_count, error_count }),
    ...{ total, done_count, error_count },
    started_at: isoTimeOrNull(task.started_at),
    finished_at: isoTimeOrNull(task.finished_at),
    log_count: task.line_count,
    cancelling: task.state === 'cancelling',
  }
}

function statusOf(
  { state }: TaskRow,
  { total, error_count }: { total: number; done_count: number; error_count: number },
) {
  if (!isEnded(state)) return 'running'
  if (state === 'cancelled') return 'cancelled'
  // If only some sources cannot be read, the job has not failed.
  return state === 'failed' || (total > 0 && error_count === total) ? 'error' : 'done'
}

/** @throws Problem('not_found') also for tasks of other kinds */
export async function jobTask(db: Db, kind: string, id: number): Promise<TaskRow> {
  const task = await taskById(db, id)
  if (task?.kind !== kind) throw new Problem('not_found', `there is no such job ${id}`)
  return task
}

/** Sends each line as `{index, at, level, message, ...}`, then the job, whose `status` is not `running`. */
export async function streamJob(
  deps: TaskStreamDeps,
  task: TaskRow,
  { fromIndex, access, view }: { fromIndex: number; access: Access; view: (task: TaskRow) => object },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.header('x-job-id', String(task.id)).header('x-job-total', String(jobOf(task).total))
  await streamTask(
    deps,
    {
      ...{ id: task.id, after: Math.max(fromIndex, lastEventOf(request)), access },
      line: (events, { seq, at, level, message, data }) =>
        events.send({ index: seq - 1, at: isoTimeOrNull(at), level, message, ...data }, undefined, String(seq)),
      end: (events, ended) => events.send({ ...view(ended), message: ended.error ?? '' }),
    },
    request,
    reply,
  )
}
