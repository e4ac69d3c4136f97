// Jobs inside a reader that read packages for the review room.
import type { Handlers } from '../../formats/readers/serve.ts'
import { handlerOf } from '../../formats/readers/session.ts'

export const reviewJobs: Handlers = {
  'review-components': handlerOf(async () => (await import('./job.ts')).components),
}
