// Jobs inside a reader for publishing.
import type { Handlers } from '../formats/readers/serve.ts'
import { handlerOf } from '../formats/readers/session.ts'
import type { SearchArgument } from './listing/find-judged.ts'

export const publishJobs: Handlers = {
  'publish-listing': handlerOf(async () => (await import('./listing/render-job.ts')).render),
  'publish-search': handlerOf(
    async () => async (argument: SearchArgument) => (await import('./listing/find-judged.ts')).searchJudged(argument),
  ),
  'publish-keys': handlerOf(async () => (await import('./key-reading.ts')).parseKeys),
}
