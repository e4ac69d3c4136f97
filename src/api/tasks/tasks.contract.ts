// Declarations of /tasks: long work that is queued, running or ended.
import Type from 'typebox'
import { TASK_STATES } from '../../domain/tasks.ts'
import { declare } from '../http/route.ts'
import { Nullable, pageOf, pageQuery, TimeSchema } from '../http/schemas.ts'

const TaskId = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: 2 ** 53 - 1, description: 'number of the task' }),
})
const Data = Nullable(Type.Record(Type.String(), Type.Unknown()))

const TaskSchema = Type.Object(
  {
    id: Type.Integer(),
    kind: Type.String(),
    key: Type.String({ description: 'what it is about, e.g. a codename; empty when the kind needs none' }),
    state: Type.Enum([...TASK_STATES]),
    arguments: Type.Record(Type.String(), Type.Unknown()),
    attempts: Type.Integer({ description: 'processes that ran it and did not give it back' }),
    created_at: TimeSchema,
    created_by: Type.String(),
    request_id: Nullable(Type.String()),
    started_at: Nullable(TimeSchema),
    finished_at: Nullable(TimeSchema),
    result: Data,
    error: Nullable(Type.Object({ code: Type.String(), detail: Type.String() })),
    lines_total: Type.Integer(),
  },
  { title: 'Task' },
)
const LineSchema = Type.Object(
  {
    seq: Type.Integer(),
    at: TimeSchema,
    level: Type.String(),
    message: Type.String(),
    data: Data,
  },
  { title: 'TaskLine' },
)

export const getTasks = declare({
  method: 'GET',
  path: '/tasks',
  tag: 'tasks',
  summary: 'Long work that is queued, running or ended, newest first',
  access: 'auditor+',
  query: Type.Object({
    ...pageQuery(),
    kind: Type.Optional(Type.String({ maxLength: 100 })),
    state: Type.Optional(Type.Enum([...TASK_STATES])),
  }),
  answer: pageOf(TaskSchema),
  problems: ['validation_error'],
})

export const getTasksId = declare({
  method: 'GET',
  path: '/tasks/{id}',
  tag: 'tasks',
  summary: 'A task and its last lines',
  access: 'auditor+',
  params: TaskId,
  answer: Type.Intersect([TaskSchema, Type.Object({ lines: Type.Array(LineSchema) })], { title: 'TaskDetails' }),
  problems: ['not_found'],
})

export const getTasksIdStream = declare({
  method: 'GET',
  path: '/tasks/{id}/stream',
  tag: 'tasks',
  summary: 'The lines of a task as events, then its end; continues after Last-Event-ID',
  access: 'auditor+',
  limit: 'stream',
  params: TaskId,
  answer: null,
  media: ['text/event-stream'],
  events: { line: LineSchema, end: TaskSchema },
  problems: ['not_found'],
})

export const postTasksIdCancel = declare({
  method: 'POST',
  path: '/tasks/{id}/cancel',
  tag: 'tasks',
  summary: 'Cancel a task that is queued or running',
  access: 'maintainer+',
  params: TaskId,
  answer: TaskSchema,
  problems: ['not_found', 'task_ended'],
})
