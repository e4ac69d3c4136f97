// Declaration of one advisory: what it is, who has it here, and what was decided about it.
import Type from 'typebox'
import { LINE_PATTERN } from '../../accounts/user.ts'
import { DecisionSchema } from '../shared/decision-schemas.ts'
import { FixStateSchema, PackageStatusSchema, SeveritySchema } from '../shared/words.ts'
import { Nullable, pageOf, pageQuery, TimeSchema } from '../http/schemas.ts'
import { declare } from '../http/route.ts'

const AffectedRecord = Type.Object(
  {
    advisory: Type.String({ description: 'the id of the finding: of a DSA that of one of its CVEs' }),
    name: Type.String(),
    version: Type.String(),
    arch: Type.String(),
    distribution: Type.String(),
    status: PackageStatusSchema,
    served: Type.Boolean(),
    severity: SeveritySchema,
    fix_state: FixStateSchema,
    fix_versions: Type.Array(Type.String()),
    fixed_here: Nullable(Type.String({ description: 'the newest published version beside it that does not have it' })),
    accepted_by_decision: Type.Boolean(),
    first_seen: TimeSchema,
  },
  { title: 'AffectedRecord' },
)

export const getSecurityAdvisoriesId = declare({
  method: 'GET',
  path: '/security/advisories/{id}',
  tag: 'security',
  summary: 'An advisory by any of its ids: what it is, which packages here have it, and the decisions about it',
  access: 'reader+',
  params: Type.Object({
    id: Type.String({
      ...{ minLength: 1, maxLength: 200, pattern: LINE_PATTERN, examples: ['CVE-2024-3094'] },
      description: 'CVE-2024-3094, DSA-5649-1, RHSA-2024:1234',
    }),
  }),
  query: Type.Object(pageQuery()),
  answer: Type.Intersect(
    [
      pageOf(AffectedRecord),
      Type.Object({
        id: Type.String(),
        stands_for: Type.Array(Type.String(), { description: 'the ids of its findings; empty when no package has it' }),
        aliases: Type.Array(Type.String()),
        severity: Nullable(SeveritySchema),
        cvss: Nullable(Type.Number()),
        description: Nullable(Type.String()),
        urls: Type.Array(Type.String()),
        epss: Nullable(Type.Number()),
        in_kev: Type.Boolean(),
        served_total: Type.Integer({ description: 'of `total`, which is at most 10000' }),
        fixed_total: Type.Integer({ description: 'for which a fixed version is known' }),
        accepted_total: Type.Integer({ description: 'that a decision accepts' }),
        packages_scanned: Type.Integer({ description: 'packages that were compared with advisories' }),
        decisions: Nullable(
          Type.Array(DecisionSchema, { description: 'the last 50 that name it; null for readers and uploaders' }),
        ),
      }),
    ],
    { title: 'AdvisoryDetails' },
  ),
  problems: ['validation_error'],
})
