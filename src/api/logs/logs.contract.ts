// Declarations of /logs: the service log of all machines.
import Type from 'typebox'
import { LOG_LEVELS } from '../../domain/log-levels.ts'
import { declare } from '../http/route.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'
import { DroppedEvent } from '../shared/event-schemas.ts'

const filters = {
  level: Type.Optional(Type.Enum([...LOG_LEVELS], { description: 'the least severe level' })),
  q: Type.Optional(Type.String({ maxLength: 200, description: 'part of the line, ignoring case' })),
  logger: Type.Optional(Type.String({ maxLength: 100, description: '`service`, `listener` or `parent`' })),
}

const LogEntry = Type.Object(
  {
    timestamp: TimeSchema,
    level: Type.Enum([...LOG_LEVELS]),
    name: Nullable(Type.String()),
    message: Type.String(),
    request_id: Nullable(Type.String()),
    data: Nullable(Type.Record(Type.String(), Type.Unknown())),
  },
  { title: 'LogEntry' },
)

export const getLogs = declare({
  method: 'GET',
  path: '/logs',
  tag: 'logs',
  summary: 'Entries of the service log, newest first',
  access: 'auditor+',
  query: Type.Object({
    ...filters,
    since: Type.Optional(Type.String({ maxLength: 40, description: 'ISO 8601' })),
    limit: Type.Integer({ minimum: 1, maximum: 1000, default: 200 }),
  }),
  answer: Type.Object(
    {
      items: Type.Array(LogEntry),
      total: Type.Integer({ description: 'entries in this answer' }),
      limit: Type.Integer(),
      complete: Type.Boolean({ description: 'false when there are, or may be, older entries' }),
    },
    { title: 'LogPage' },
  ),
  problems: ['validation_error'],
})

export const getLogsStream = declare({
  method: 'GET',
  path: '/logs/stream',
  tag: 'logs',
  summary: 'New entries of the service log as events; continues after Last-Event-ID',
  access: 'auditor+',
  limit: 'stream',
  query: Type.Object(filters),
  answer: null,
  media: ['text/event-stream'],
  events: { log: LogEntry, dropped: DroppedEvent },
  problems: ['validation_error'],
})
