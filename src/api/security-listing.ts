// The lists of /security: packages with findings, vulnerabilities, posture, review queue.
import { sql } from 'kysely'
import { countSeverities, FIX_STATES, type Finding } from '../domain/finding.ts'
import { Problem } from '../domain/problem.ts'
import { PACKAGE_STATUSES } from '../domain/status.ts'
import type { Clock } from '../kernel/clock.ts'
import { matchingRecords, recordsOf } from '../store/records/artifact-query.ts'
import type { Offered } from '../formats/format.ts'
import { withFixesAvailable } from '../imports/fix-available.ts'
import type { Db } from '../store/db.ts'
import {
  posturePage,
  queuePage,
  securityPage,
  vulnerabilityPage,
  type VulnerabilityRow,
} from '../store/records/review-query.ts'
import { type Route } from './route.ts'
import { page } from './schemas.ts'
import { selectorOf, severitiesOf, wordsOf } from './security-schemas.ts'
import { securityItems, representative } from './security-views.ts'
import {
  getSecurityPackages,
  getSecurityVulnerabilities,
  getSecurityPackagesPosture,
  getSecurityReviewQueue,
  getSecurityPackagesNameVersionCve,
} from './security-listing.contract.ts'
import { handle } from './route.ts'

export function securityListingRoutes(deps: { db: Db; clock: Clock; offered(codename: string): Offered }): Route[] {
  const { db } = deps
  return [
    handle(getSecurityPackages, async ({ query }) => {
      const filter = {
        statuses: wordsOf('status', query.status, PACKAGE_STATUSES),
        severities: severitiesOf(query.severity),
        distribution: query.distribution,
      }
      const { ids, total, summary } = await securityPage(db, filter, { page: query.page, perPage: query.per_page })
      return { ...page(await securityItems(deps, ids, query.include_findings), total, query), summary }
    }),
    handle(getSecurityVulnerabilities, async ({ query }) => {
      const filter = {
        severities: severitiesOf(query.severity),
        fixStates: wordsOf('fix_state', query.fix_state, FIX_STATES),
        distribution: query.distribution,
      }
      const { rows, total, scanned, summary } = await vulnerabilityPage(db, filter, {
        page: query.page,
        perPage: query.per_page,
      })
      const items = rows.map((row) => ({
        ...row.finding,
        package: row.name,
        version: row.version,
        arch: row.arch,
        distribution: row.distribution,
        status: row.status,
        served: row.served,
      }))
      return {
        ...page(items, total, query),
        summary,
        packages_scanned: scanned,
        packages: packagesOf(rows),
        vulnerabilities: { items, total },
      }
    }),
    handle(getSecurityPackagesPosture, async ({ query }) => {
      const { ids, total, scanned, summary } = await posturePage(db, { page: query.page, perPage: query.per_page })
      const { items, ...envelope } = page(await securityItems(deps, ids, false), total, query)
      return {
        ...envelope,
        summary,
        total_packages: total,
        scanned_packages: scanned,
        unscanned_packages: total - scanned,
        packages: items,
      }
    }),
    handle(getSecurityReviewQueue, async ({ query }) => {
      const { ids, review, blocked } = await queuePage(db, { page: query.page, perPage: query.per_page })
      const items = await securityItems(deps, ids, query.include_findings)
      return { ...page(items, review, query), packages: items, blocked_count: blocked, review_count: review }
    }),
    handle(getSecurityPackagesNameVersionCve, async ({ params, query }) => {
      const rows = await matchingRecords(db, selectorOf({ params, query }, undefined))
        .select(['id', 'distribution', 'arch', 'status', 'risk'])
        .select(sql<number>`coalesce(jsonb_array_length(cve_results), 0)`.as('total'))
        .execute()
      const shown = representative(rows)
      const [row] = shown ? await recordsOf(db, [shown.id]) : []
      if (!row) throw new Problem('not_found', `there is no package ${params.name} ${params.version}`)
      const { versions } = deps.offered(row.distribution).format
      const findings = await withFixesAvailable(db, row, (row.cve_results ?? []) as Finding[], versions)
      return {
        package: row.name,
        version: row.version,
        arch: row.arch,
        distribution: row.distribution,
        cve_counts: countSeverities(findings),
        total: findings.length,
        cve_results: findings,
        has_structured_data: row.cve_results !== null,
        records: rows.map(({ distribution, arch, status, total }) => ({ distribution, arch, status, total })),
      }
    }),
  ]
}

/** Groups the findings of a page by package. */
function packagesOf(rows: readonly VulnerabilityRow[]) {
  const groups = new Map<number, VulnerabilityRow[]>()
  for (const row of rows) groups.set(row.package_id, [...(groups.get(row.package_id) ?? []), row])
  return [...groups.values()].map((group) => {
    const [{ name, version, arch, distribution, status, served }] = group as [VulnerabilityRow]
    return { name, version, arch, distribution, status, served, cve_ids: group.map((row) => row.finding.id) }
  })
}
