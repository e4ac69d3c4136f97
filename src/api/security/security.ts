// All routes of /security except the policy.
import type { Settings } from '../../domain/settings.ts'
import type { Placed } from '../../formats/intake-format.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Review } from '../../review/review.ts'
import type { Db } from '../../store/db.ts'
import type { Route } from '../http/route.ts'
import { securityAdvisoryRoutes } from './advisory.ts'
import { securityAssignRoutes } from './assign.ts'
import { securityDecideRoutes } from './decide.ts'
import { securityDecisionRoutes } from './decisions.ts'
import { securityEngineRoutes, type EngineDeps } from './engines.ts'
import { securityEvidenceRoutes } from './evidence.ts'
import { securityExportRoutes } from './exports.ts'
import { securityListingRoutes, type ListingDeps } from './listing.ts'
import { securityQueueRoutes, type QueueDeps } from './queue.ts'

export interface SecurityDeps extends EngineDeps, ListingDeps, QueueDeps {
  db: Db
  clock: Clock
  review: Review
  settings(): Settings
  offered(codename: string): Placed
}

export function securityRoutes(deps: SecurityDeps): Route[] {
  return [
    ...securityListingRoutes(deps),
    ...securityQueueRoutes(deps),
    ...securityEvidenceRoutes(deps),
    ...securityExportRoutes(deps),
    ...securityAdvisoryRoutes(deps),
    ...securityAssignRoutes(deps),
    ...securityDecideRoutes(deps),
    ...securityDecisionRoutes(deps),
    ...securityEngineRoutes(deps),
  ]
}
