// Reading /security: packages with findings, vulnerabilities, posture, the review queue, one package's findings.
import Type from 'typebox'
import { countSeverities, type Finding } from '../domain/finding.ts'
import { Problem } from '../domain/problem.ts'
import { PACKAGE_STATUSES } from '../domain/status.ts'
import type { Clock } from '../kernel/clock.ts'
import { selectRecords } from '../store/records/artifact-query.ts'
import type { Db } from '../store/db.ts'
import {
  posturePage,
  queuePage,
  securityPage,
  vulnerabilityPage,
  type VulnerabilityRow,
} from '../store/records/review-query.ts'
import { route, type Route } from './route.ts'
import { page, pageOf, pageQuery } from './schemas.ts'
import { CountsSchema, NameVersion, Narrowed, selectorOf, severitiesOf, wordsOf } from './security-schemas.ts'
import { SecurityItem, securityItems, speaking } from './security-views.ts'

const FIX_STATES = ['fixed', 'not-fixed', 'wont-fix', 'unknown'] as const

const Summary = Type.Object({ summary: CountsSchema })
const flag = (value: boolean, description: string) => Type.Boolean({ default: value, description })

export function securityListingRoutes(parts: { db: Db; clock: Clock }): Route[] {
  const { db } = parts
  return [
    route({
      method: 'GET',
      path: '/security/packages',
      tag: 'security',
      summary: 'Packages with findings, held, quarantined or rejected; the worst first',
      access: 'maintainer+',
      query: Type.Object({
        ...pageQuery(),
        status: Type.Optional(Type.String({ description: 'one or more statuses, separated by commas' })),
        severity: Type.Optional(
          Type.String({ description: 'at least one finding of one of these severities, separated by commas' }),
        ),
        distribution: Type.Optional(Type.String()),
        include_findings: flag(true, 'with `cve_results`'),
      }),
      answer: Type.Intersect([pageOf(SecurityItem), Summary]),
      problems: ['validation_error'],
      async handle({ query }) {
        const filter = {
          statuses: wordsOf('status', query.status, PACKAGE_STATUSES),
          severities: severitiesOf(query.severity),
          distribution: query.distribution,
        }
        const { ids, total, summary } = await securityPage(db, filter, { page: query.page, perPage: query.per_page })
        return { ...page(await securityItems(parts, ids, query.include_findings), total, query), summary }
      },
    }),
    route({
      method: 'GET',
      path: '/security/vulnerabilities',
      tag: 'security',
      summary: 'Findings of all packages, the worst first',
      access: 'reader+',
      query: Type.Object({
        ...pageQuery(),
        severity: Type.Optional(Type.String({ description: 'severities, separated by commas' })),
        fix_state: Type.Optional(Type.String({ description: FIX_STATES.join(', ') })),
        distribution: Type.Optional(Type.String()),
      }),
      answer: Type.Intersect([
        pageOf(
          Type.Object({ id: Type.String(), severity: Type.String(), package: Type.String(), version: Type.String() }),
        ),
        Summary,
        Type.Object({
          packages_scanned: Type.Integer(),
          packages: Type.Array(Type.Object({})),
          vulnerabilities: Type.Object({ items: Type.Array(Type.Object({})), total: Type.Integer() }),
        }),
      ]),
      problems: ['validation_error'],
      async handle({ query }) {
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
      },
    }),
    route({
      method: 'GET',
      path: '/security/packages-posture',
      tag: 'security',
      summary: 'Every package with what is known of it, the worst first',
      access: 'auditor+',
      query: Type.Object(pageQuery()),
      answer: Type.Object({
        summary: CountsSchema,
        total_packages: Type.Integer(),
        scanned_packages: Type.Integer(),
        unscanned_packages: Type.Integer(),
        packages: Type.Array(SecurityItem),
        total: Type.Integer(),
        page: Type.Integer(),
        per_page: Type.Integer(),
        pages: Type.Integer(),
      }),
      problems: ['validation_error'],
      async handle({ query }) {
        const { ids, total, scanned, summary } = await posturePage(db, { page: query.page, perPage: query.per_page })
        const { items, ...envelope } = page(await securityItems(parts, ids, false), total, query)
        return {
          ...envelope,
          summary,
          total_packages: total,
          scanned_packages: scanned,
          unscanned_packages: total - scanned,
          packages: items,
        }
      },
    }),
    route({
      method: 'GET',
      path: '/security/review-queue',
      tag: 'security',
      summary: 'Packages under review, the most urgent first',
      access: 'auditor+',
      query: Type.Object({ ...pageQuery(), include_findings: flag(true, 'with `cve_results`') }),
      answer: Type.Intersect([
        pageOf(SecurityItem),
        Type.Object({
          blocked_count: Type.Integer(),
          review_count: Type.Integer(),
          packages: Type.Array(SecurityItem),
        }),
      ]),
      problems: ['validation_error'],
      async handle({ query }) {
        const { ids, review, blocked } = await queuePage(db, { page: query.page, perPage: query.per_page })
        const items = await securityItems(parts, ids, query.include_findings)
        return { ...page(items, review, query), packages: items, blocked_count: blocked, review_count: review }
      },
    }),
    route({
      method: 'GET',
      path: '/security/packages/{name}/{version}/cve',
      tag: 'security',
      summary: 'The findings of one version',
      access: 'reader+',
      params: NameVersion,
      query: Narrowed,
      answer: Type.Object({
        package: Type.String(),
        version: Type.String(),
        arch: Type.String(),
        distribution: Type.String(),
        cve_counts: CountsSchema,
        total: Type.Integer(),
        cve_results: Type.Array(Type.Object({ id: Type.String() })),
        has_structured_data: Type.Boolean(),
        records: Type.Array(Type.Object({})),
      }),
      problems: ['not_found'],
      async handle({ params, query }) {
        const rows = await selectRecords(db, selectorOf({ params, query }, undefined))
        const row = speaking(rows)
        if (!row) throw new Problem('not_found', `there is no package ${params.name} ${params.version}`)
        const findings = (row.cve_results ?? []) as Finding[]
        return {
          package: row.name,
          version: row.version,
          arch: row.arch,
          distribution: row.distribution,
          cve_counts: countSeverities(findings),
          total: findings.length,
          cve_results: findings,
          has_structured_data: row.cve_results !== null,
          records: rows.map((other) => ({
            distribution: other.distribution,
            arch: other.arch,
            status: other.status,
            total: (other.cve_results ?? []).length,
          })),
        }
      },
    }),
  ]
}

/** The packages that the findings of a page are in. */
function packagesOf(rows: readonly VulnerabilityRow[]) {
  const groups = new Map<number, VulnerabilityRow[]>()
  for (const row of rows) groups.set(row.package_id, [...(groups.get(row.package_id) ?? []), row])
  return [...groups.values()].map((group) => {
    const [{ name, version, arch, distribution, status, served }] = group as [VulnerabilityRow]
    return { name, version, arch, distribution, status, served, cve_ids: group.map((row) => row.finding.id) }
  })
}
