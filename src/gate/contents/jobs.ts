// Inside a reader: what the gate does there.
import type { Handlers } from '../../formats/readers/serve.ts'
import { handlerOf } from '../../formats/readers/session.ts'

export const gateJobs: Handlers = {
  'gate-contents': handlerOf(async () => (await import('./job.ts')).contents),
}
