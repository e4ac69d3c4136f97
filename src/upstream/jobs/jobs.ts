// Jobs inside a reader that read data of upstreams.
import type { Handlers } from '../../formats/readers/serve.ts'
import { handlerOf } from '../../formats/readers/session.ts'

export const upstreamJobs: Handlers = {
  'upstream-listing': handlerOf(async () => (await import('./listing.ts')).readListing),
  'upstream-verify': handlerOf(async () => (await import('./verify.ts')).verify),
  'upstream-describe': handlerOf(async () => (await import('./describe.ts')).describe),
  'upstream-packages': handlerOf(async () => (await import('./packages.ts')).packages),
  'upstream-mirrors': handlerOf(async () => (await import('./small.ts')).mirrors),
  'upstream-package-digest': handlerOf(async () => (await import('./small.ts')).packageDigest),
}
