// Inside a reader: what reviews need to know of packages.
import type { Handlers } from '../../formats/readers/serve.ts'
import { handlerOf } from '../../formats/readers/session.ts'

export const reviewJobs: Handlers = {
  'review-components': handlerOf(async () => (await import('./job.ts')).components),
}
