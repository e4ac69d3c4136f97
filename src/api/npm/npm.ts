// /npm: repositories for npm, pnpm, yarn and bun.
import type { Route } from '../http/route.ts'
import { accountRoutes, type AccountDeps } from './account.ts'
import { advisoryRoutes, type AdvisoryDeps } from './advisories.ts'
import { publishingRoutes, type PublishingDeps } from './publishing.ts'
import { readingRoutes, type ReadingDeps } from './reading.ts'
import { attestingRoutes, type AttestingDeps } from './attesting.ts'
import { searchRoutes, type SearchDeps } from './search.ts'

export type NpmDeps = ReadingDeps & PublishingDeps & AccountDeps & AdvisoryDeps & SearchDeps & AttestingDeps

export function npmRoutes(deps: NpmDeps): Route[] {
  return [
    ...readingRoutes(deps),
    ...publishingRoutes(deps),
    ...accountRoutes(deps),
    ...advisoryRoutes(deps),
    ...searchRoutes(deps),
    ...attestingRoutes(deps),
  ]
}
