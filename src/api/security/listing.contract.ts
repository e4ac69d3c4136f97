// Declarations of the lists of /security: packages with findings, vulnerabilities, posture.
import Type from 'typebox'
import { FIX_STATES } from '../../domain/finding.ts'
import { FindingSchema, PackageFindingSchema } from '../shared/evidence-schemas.ts'
import { FixStateSchema, PackageStatusSchema, SeveritySchema } from '../shared/words.ts'
import { Nullable, pageOf, pageQuery } from '../http/schemas.ts'
import { CountsSchema } from '../shared/decision-schemas.ts'
import { NameVersion, Narrowed, SecurityItem } from './schemas.ts'
import { declare } from '../http/route.ts'

export const Summary = Type.Object({ summary: CountsSchema })

export const flag = (value: boolean, description: string) => Type.Boolean({ default: value, description })

export const getSecurityPackages = declare({
  method: 'GET',
  path: '/security/packages',
  tag: 'security',
  summary: 'Packages that have findings or are held, quarantined or rejected; the worst first',
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

/** A package of a page of findings. */
const Affected = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    arch: Type.String(),
    distribution: Type.String(),
    status: Type.String(),
    served: Type.Boolean(),
    cve_ids: Type.Array(Type.String()),
  },
  { title: 'AffectedPackage' },
)

export const SearchText = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 200,
    description:
      'part of a package name, or the beginning of an id of an advisory: CVE-2024-3094, DSA-5649-1, RHSA-2024:1234',
  }),
)

/** One advisory among all packages. */
const AdvisorySchema = Type.Object(
  {
    id: Type.String(),
    aliases: Type.Array(Type.String(), { description: 'other ids of it, as far as its worst finding names them' }),
    severity: SeveritySchema,
    cvss: Nullable(Type.Number()),
    description: Nullable(Type.String()),
    urls: Type.Array(Type.String()),
    epss: Nullable(Type.Number()),
    in_kev: Type.Boolean(),
    packages_total: Type.Integer({ description: 'at most 1000' }),
    served_total: Type.Integer(),
    packages: Type.Array(
      Type.Object({
        name: Type.String(),
        version: Type.String(),
        arch: Type.String(),
        distribution: Type.String(),
        status: PackageStatusSchema,
        served: Type.Boolean(),
        severity: SeveritySchema,
        fix_state: FixStateSchema,
        fix_versions: Type.Array(Type.String()),
      }),
      { description: 'the first 20, those that clients are offered first' },
    ),
  },
  { title: 'Advisory' },
)

export const VulnerabilityFilterSchema = {
  severity: Type.Optional(Type.String({ description: 'severities, separated by commas' })),
  fix_state: Type.Optional(Type.String({ description: FIX_STATES.join(', ') })),
  distribution: Type.Optional(Type.String()),
  q: SearchText,
  kev: Type.Optional(Type.Boolean({ description: 'whether it is known to be exploited' })),
  epss_min: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'this EPSS score or more' })),
}

export const getSecurityVulnerabilities = declare({
  method: 'GET',
  path: '/security/vulnerabilities',
  tag: 'security',
  summary: 'Findings of all packages, the worst first',
  access: 'reader+',
  query: Type.Object({
    ...pageQuery(),
    ...VulnerabilityFilterSchema,
    group: Type.Optional(Type.Enum(['cve'], { description: 'one item for each advisory, in `advisories`' })),
  }),
  answer: Type.Intersect(
    [
      pageOf(PackageFindingSchema),
      Summary,
      Type.Object({
        total_capped: Type.Boolean({ description: 'there are more than `total`' }),
        packages_scanned: Type.Integer(),
        packages: Type.Array(Affected),
        vulnerabilities: Type.Object({ items: Type.Array(PackageFindingSchema), total: Type.Integer() }),
        advisories: Type.Optional(Type.Array(AdvisorySchema)),
      }),
    ],
    { title: 'VulnerabilityPage' },
  ),
  problems: ['validation_error'],
})

export const getSecurityPackagesPosture = declare({
  method: 'GET',
  path: '/security/packages-posture',
  tag: 'security',
  summary: 'Every package with its findings, the worst first',
  access: 'auditor+',
  query: Type.Object(pageQuery()),
  answer: Type.Object(
    {
      summary: CountsSchema,
      total_packages: Type.Integer(),
      scanned_packages: Type.Integer(),
      unscanned_packages: Type.Integer(),
      packages: Type.Array(SecurityItem),
      total: Type.Integer(),
      page: Type.Integer(),
      per_page: Type.Integer(),
      pages: Type.Integer(),
    },
    { title: 'Posture' },
  ),
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
  answer: Type.Object(
    {
      package: Type.String(),
      version: Type.String(),
      arch: Type.String(),
      distribution: Type.String(),
      cve_counts: CountsSchema,
      total: Type.Integer(),
      cve_results: Type.Array(FindingSchema),
      has_structured_data: Type.Boolean(),
      records: Type.Array(
        Type.Object({
          distribution: Type.String(),
          arch: Type.String(),
          status: Type.String(),
          total: Type.Integer(),
        }),
      ),
    },
    { title: 'VersionFindings' },
  ),
  problems: ['not_found'],
})
