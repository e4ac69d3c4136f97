// The lists of /security: packages with findings, vulnerabilities, posture, review queue.
import { countSeverities, FIX_STATES, type Finding } from '../../domain/finding.ts'
import { invalidField, Problem } from '../../domain/problem.ts'
import { worstOfBits } from '../../domain/risk.ts'
import { HELD_REASONS, PACKAGE_STATUSES } from '../../domain/status.ts'
import type { Downloads } from '../../operations/downloads/downloads.ts'
import type { Clock } from '../../kernel/clock.ts'
import { countedRecords, recordsOf } from '../../store/records/artifact-query.ts'
import type { Placed } from '../../formats/intake-format.ts'
import { withFixesAvailable } from '../../imports/fix-available.ts'
import type { Db } from '../../store/db.ts'
import {
  queueCounts,
  queuePage,
  type QueueFilter,
  type QueueGroup,
  type QueueSort,
} from '../../packages/records/queue-query.ts'
import { queueGroups } from '../../packages/records/queue-groups-query.ts'
import { posturePage, securityPage, type At } from '../../packages/records/review-query.ts'
import {
  advisoryPage,
  vulnerabilityPage,
  type VulnerabilityFilter,
  type VulnerabilityRow,
} from '../../packages/records/vulnerability-query.ts'
import { type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import { selectorOf, severitiesOf, wordsOf } from './schemas.ts'
import { slaOf } from '../../review/sla.ts'
import { securityItems, representative } from './views.ts'
import {
  getSecurityPackages,
  getSecurityVulnerabilities,
  getSecurityPackagesPosture,
  getSecurityReviewQueue,
  getSecurityPackagesNameVersionCve,
} from './listing.contract.ts'
import { handle } from '../http/route.ts'

export interface ListingDeps {
  db: Db
  clock: Clock
  offered(codename: string): Placed
  downloads: Pick<Downloads, 'radiusOf'>
}

export function securityListingRoutes(deps: ListingDeps): Route[] {
  const { db } = deps

  async function byAdvisory(filter: VulnerabilityFilter, at: At, query: { page: number; per_page: number }) {
    const { rows, total, capped, scanned, summary } = await advisoryPage(db, filter, at)
    const advisories = rows.map(({ cve, finding, epss, in_kev, packages, served, affected }) => ({
      id: cve,
      aliases: finding.aliases ?? [],
      severity: finding.severity,
      cvss: finding.cvss,
      description: finding.description,
      urls: finding.urls,
      epss,
      in_kev,
      packages_total: packages,
      served_total: served,
      packages: affected,
    }))
    return {
      ...page([], total, query),
      summary,
      total_capped: capped,
      packages_scanned: scanned,
      packages: [],
      vulnerabilities: { items: [], total: 0 },
      advisories,
    }
  }

  async function queueItems(ids: readonly number[], withFindings: boolean) {
    const found = await securityItems(deps, ids, withFindings)
    const radiusOf = await deps.downloads.radiusOf(found)
    return found.map((item) => ({ ...item, blast_radius: radiusOf(item) }))
  }

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
      ({ key, packages, exploited, epss, severities, due_at, names, first: name }) => {
        const first = byName.get(name)
        if (first === undefined) return []
        const risk = { exploited_total: exploited, epss_max: epss, worst_severity: worstOfBits(severities) }
        return [{ key, packages_total: packages, names, ...risk, sla: slaOf(due_at, now), first }]
      },
    )
    const { review, blocked } = await queueCounts(db)
    return { ...page([], found.total, query), packages: [], groups, blocked_count: blocked, review_count: review }
  }

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
      const filter = vulnerabilityFilter(query)
      const at = { page: query.page, perPage: query.per_page }
      if (query.group === 'cve') return byAdvisory(filter, at, query)
      const { rows, total, capped, scanned, summary } = await vulnerabilityPage(db, filter, at)
      const items = rows.map(packageFindingOf)
      return {
        ...page(items, total, query),
        summary,
        total_capped: capped,
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
      if (query.group && !filter.in) return inGroups(filter, query.group, query)
      const { ids, matching, review, blocked } = await queuePage(db, filter, query.sort, at)
      const items = await queueItems(ids, query.include_findings)
      return { ...page(items, matching, query), packages: items, blocked_count: blocked, review_count: review }
    }),
    handle(getSecurityPackagesNameVersionCve, async ({ params, query }) => {
      const rows = await countedRecords(db, selectorOf({ params, query }, undefined))
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

interface GivenFilter {
  severity?: string | undefined
  fix_state?: string | undefined
  distribution?: string | undefined
  q?: string | undefined
  kev?: boolean | undefined
  epss_min?: number | undefined
}

/** @throws Problem `validation_error` */
export function vulnerabilityFilter({
  severity,
  fix_state,
  epss_min: epssMin,
  ...same
}: GivenFilter): VulnerabilityFilter {
  return {
    ...same,
    epssMin,
    severities: severitiesOf(severity),
    fixStates: wordsOf('fix_state', fix_state, FIX_STATES),
  }
}

export const packageFindingOf = ({ finding, name, version, arch, distribution, status, served }: VulnerabilityRow) => ({
  ...finding,
  ...{ package: name, version, arch, distribution, status, served },
})

function memberOf({ group, member_of: key }: { group?: QueueGroup | undefined; member_of?: string | undefined }) {
  if (key === undefined) return undefined
  if (group === undefined) throw invalidField('member_of', 'needs `group`')
  return { group, key }
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
