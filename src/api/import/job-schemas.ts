// The shapes of import jobs in answers and requests.
import Type, { type TSchema } from 'typebox'
import { Nullable, TimeSchema } from '../http/schemas.ts'

/** docs/api-decisions.md, section 8 */
export const JobSchema = Type.Object(
  {
    job_id: Type.Integer(),
    label: Type.String(),
    status: Type.Enum(['running', 'done', 'error', 'cancelled']),
    total: Type.Integer(),
    done_count: Type.Integer(),
    error_count: Type.Integer(),
    started_at: Nullable(TimeSchema),
    finished_at: Nullable(TimeSchema),
    log_count: Type.Integer(),
    cancelling: Type.Boolean(),
  },
  { title: 'ImportJob' },
)
/** The last event of a stream of lines: the job. */
export const ended = (job: TSchema) => Type.Intersect([job, Type.Object({ message: Type.String() })])
export const CancelledJob = Type.Object(
  {
    job_id: Type.Integer(),
    cancelled: Type.Boolean(),
    status: Type.String(),
    message: Type.String(),
  },
  { title: 'CancelledJob' },
)
export const JobId = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: 2 ** 53 - 1, description: 'number of the job' }),
})
export const FromIndex = Type.Object({
  from_index: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, default: 0, description: 'lines to leave out' }),
})
