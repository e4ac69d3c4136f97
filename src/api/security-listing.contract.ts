// Declarations of the lists of /security: packages with findings, vulnerabilities, posture, review queue.
import Type from 'typebox'
import { pageOf, pageQuery } from './schemas.ts'
import { CountsSchema, NameVersion, Narrowed } from './security-schemas.ts'
import { SecurityItem } from './security-schemas.ts'
import { declare } from './route.ts'

export const FIX_STATES = ['fixed', 'not-fixed', 'wont-fix', 'unknown'] as const

export const Summary = Type.Object({ summary: CountsSchema })

export const flag = (value: boolean, description: string) => Type.Boolean({ default: value, description })

export const getSecurityPackages = declare({
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
})

export const getSecurityVulnerabilities = declare({
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
    pageOf(Type.Object({ id: Type.String(), severity: Type.String(), package: Type.String(), version: Type.String() })),
    Summary,
    Type.Object({
      packages_scanned: Type.Integer(),
      packages: Type.Array(Type.Object({})),
      vulnerabilities: Type.Object({ items: Type.Array(Type.Object({})), total: Type.Integer() }),
    }),
  ]),
  problems: ['validation_error'],
})

export const getSecurityPackagesPosture = declare({
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
})

export const getSecurityReviewQueue = declare({
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
})

export const getSecurityPackagesNameVersionCve = declare({
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
})
