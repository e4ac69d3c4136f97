// The lists of /security: packages with findings, vulnerabilities, posture, review queue.
import { countSeverities, FIX_STATES, type Finding } from '../../domain/finding.ts'
import { invalidField, Problem } from '../../domain/problem.ts'
import { worstOfBits } from '../../domain/risk.ts'
import type { Settings } from '../../domain/settings.ts'
import { HELD_REASONS, PACKAGE_STATUSES } from '../../domain/status.ts'
import type { Downloads } from '../../operations/downloads/downloads.ts'
import type { Clock } from '../../kernel/clock.ts'
import { countedRecords, recordsOf } from '../../store/records/artifact-query.ts'
import type { Offered } from '../../formats/format.ts'
import { withFixesAvailable } from '../../imports/fix-available.ts'
import type { Db } from '../../store/db.ts'
import {
  queueCounts,
  queuePage,
  type QueueFilter,
  type QueueGroup,
  type QueueSort,
} from '../../packages/records/queue-query.ts'
import { noteFixVersions } from '../../packages/records/fix-versions.ts'
import { fixesOf } from '../../packages/records/fixed-here.ts'
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
  settings(): Pick<Settings, 'security'>
  offered(codename: string): Offered
  downloads: Pick<Downloads, 'radiusOf'>
}

export function securityListingRoutes(deps: ListingDeps): Route[] {
  const { db } = deps
  const compareIn = (codename: string) => deps.offered(codename).format.versions.compare

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
      const filter: VulnerabilityFilter = {
        severities: severitiesOf(query.severity),
        fixStates: wordsOf('fix_state', query.fix_state, FIX_STATES),
        distribution: query.distribution,
        q: query.q,
        kev: query.kev,
        epssMin: query.epss_min,
      }
      const at = { page: query.page, perPage: query.per_page }
      if (query.group === 'cve') return byAdvisory(filter, at, query)
      const { rows, total, capped, scanned, summary } = await vulnerabilityPage(db, filter, at)
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
        in: memberOf(query),
      }
      const at = { page: query.page, perPage: query.per_page }
      if (query.group === 'fix') await noteFixVersions(db, compareIn)
      if (query.group && !filter.in) return inGroups(filter, query.group, query)
      const { ids, matching, review, blocked } = await queuePage(db, filter, query.sort, at)
      const items = await queueItems(ids, query.include_findings)
      return { ...page(items, matching, query), packages: items, ...about(review, blocked) }
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
