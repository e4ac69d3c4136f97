// The review queue: records or groups of them, with what a person needs to know first.
import { invalidField } from '../../domain/problem.ts'
import { worstOfBits } from '../../domain/risk.ts'
import type { Settings } from '../../domain/settings.ts'
import { HELD_REASONS } from '../../domain/status.ts'
import type { Placed } from '../../formats/intake-format.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Downloads } from '../../operations/downloads/downloads.ts'
import { noteFixVersions } from '../../packages/records/fix-versions.ts'
import { fixesOf } from '../../packages/records/fixed-here.ts'
import { queueGroups } from '../../packages/records/queue-groups-query.ts'
import {
  queueCounts,
  queuePage,
  type QueueFilter,
  type QueueGroup,
  type QueueSort,
} from '../../packages/records/queue-query.ts'
import { slaOf } from '../../review/sla.ts'
import type { Db } from '../../store/db.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { getSecurityReviewQueue } from './queue.contract.ts'
import { severitiesOf, wordsOf } from './schemas.ts'
import { securityItems } from './views.ts'

export interface QueueDeps {
  db: Db
  clock: Clock
  settings(): Pick<Settings, 'security'>
  offered(codename: string): Placed
  downloads: Pick<Downloads, 'radiusOf'>
}

export function securityQueueRoutes(deps: QueueDeps): Route[] {
  const { db } = deps
  const compareIn = (codename: string) => deps.offered(codename).format.versions.compare

  async function queueItems(ids: readonly number[], withFindings: boolean) {
    const found = await securityItems(deps, ids, withFindings, await fixesOf(db, ids, compareIn))
    const radiusOf = await deps.downloads.radiusOf(found)
    return found.map((item) => ({ ...item, blast_radius: radiusOf(item) }))
  }

  const about = (review: number, blocked: number) => ({
    ...{ blocked_count: blocked, review_count: review },
    approval_days: deps.settings().security.approval_days,
  })

  async function inGroups(
    filter: QueueFilter,
    group: QueueGroup,
    query: { page: number; per_page: number; sort: QueueSort },
  ) {
    const found = await queueGroups(db, filter, group, query.sort, { page: query.page, perPage: query.per_page })
    const now = deps.clock.now()
    const firsts = await queueItems(
      found.groups.map((row) => row.first_id),
      false,
    )
    // A member that was deleted between the two queries has no item.
    const byName = new Map(
      firsts.map((item) => [[item.name, item.version, item.arch, item.distribution].join(' '), item]),
    )
    const groups = found.groups.flatMap(
      ({ key, packages, exploited, epss, severities, due_at, fix, names, first: name }) => {
        const first = byName.get(name)
        if (first === undefined) return []
        const risk = { exploited_total: exploited, epss_max: epss, worst_severity: worstOfBits(severities) }
        return [{ key, packages_total: packages, names, fix_version: fix, ...risk, sla: slaOf(due_at, now), first }]
      },
    )
    const { review, blocked } = await queueCounts(db)
    return { ...page([], found.total, query), packages: [], groups, ...about(review, blocked) }
  }

  return [
    handle(getSecurityReviewQueue, async ({ query }) => {
      const filter = {
        q: query.q,
        severities: severitiesOf(query.severity),
        distribution: query.distribution,
        reasons: wordsOf('reason', query.reason, HELD_REASONS),
        kev: query.kev,
        fix: query.fix,
        assignedTo: query.assigned_to,
        unassigned: query.unassigned,
        in: memberOf(query),
      }
      const at = { page: query.page, perPage: query.per_page }
      if (query.group === 'fix') await noteFixVersions(db, compareIn)
      if (query.group && !filter.in) return inGroups(filter, query.group, query)
      const { ids, matching, review, blocked } = await queuePage(db, filter, query.sort, at)
      const items = await queueItems(ids, query.include_findings)
      return { ...page(items, matching, query), packages: items, ...about(review, blocked) }
    }),
  ]
}

function memberOf({ group, member_of: key }: { group?: QueueGroup | undefined; member_of?: string | undefined }) {
  if (key === undefined) return undefined
  if (group === undefined) throw invalidField('member_of', 'needs `group`')
  return { group, key }
}
