// The data of events that several streams send. An event without a name is called `message`, as in EventSource.
import Type from 'typebox'
import { Nullable, TimeSchema } from '../http/schemas.ts'

/** The last event of most streams that are answers to a POST: a text, no JSON. */
export const DoneText = Type.String({ title: 'DoneText', description: '`done`, the last event' })

/** An error after the stream has begun. */
export const ErrorEvent = Type.Object(
  { status: Type.Literal('error'), detail: Type.String(), code: Type.String() },
  { title: 'ErrorEvent', additionalProperties: true, description: 'with the keys of `Error`' },
)

/** Events that were left out, because the client reads slowly or was away for long. */
export const DroppedEvent = Type.Object({ count: Type.Integer() }, { title: 'DroppedEvent' })

/** A line of an import job. */
export const JobLine = Type.Object(
  { index: Type.Integer(), at: Nullable(TimeSchema), level: Type.String(), message: Type.String() },
  {
    title: 'JobLine',
    additionalProperties: true,
    description: 'also `status`, `count`, `source_id`, where a line has them',
  },
)
