// The jobs of the gate that run inside a reader.
import type { Handlers } from '../../formats/readers/serve.ts'
import { handlerOf } from '../../formats/readers/session.ts'

export const gateJobs: Handlers = {
  'gate-contents': handlerOf(async () => (await import('./job.ts')).contents),
  'gate-provenance': handlerOf(async () => (await import('../provenance/verify.ts')).verifyProvenance),
}
