// Who has to look at a held package.
import { reviewersOf } from '../../review/assign.ts'
import type { Review } from '../../review/review.ts'
import type { Db } from '../../store/db.ts'
import { handle, type Route } from '../http/route.ts'
import { getSecurityReviewers, patchSecurityPackagesNameVersionAssign } from './assign.contract.ts'
import { actorOf, selectorOf } from './schemas.ts'

export function securityAssignRoutes({ db, review }: { db: Db; review: Pick<Review, 'assignHeld'> }): Route[] {
  return [
    handle(patchSecurityPackagesNameVersionAssign, async (call) => {
      const { assigned_to: to, ...narrowed } = call.body
      const { name, records } = await review.assignHeld(selectorOf(call, narrowed), to, actorOf(call))
      return {
        status: 'ok',
        package: call.params.name,
        version: call.params.version,
        assigned_to: name,
        records: records.map(({ distribution, arch }) => ({ distribution, arch })),
      }
    }),
    handle(getSecurityReviewers, async () => ({ reviewers: await reviewersOf(db) })),
  ]
}
