// Jobs inside a reader that read keys for publishing.
import type { Handlers } from '../formats/readers/serve.ts'
import { handlerOf } from '../formats/readers/session.ts'

export const publishJobs: Handlers = {
  'publish-keys': handlerOf(async () => (await import('./key-reading.ts')).parseKeys),
}
