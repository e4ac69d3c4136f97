// Declaration of the review queue.
import Type from 'typebox'
import { QUEUE_GROUPS, QUEUE_SORTS } from '../../packages/records/queue-query.ts'
import { declare } from '../http/route.ts'
import { Nullable, pageOf, pageQuery } from '../http/schemas.ts'
import { SlaSchema } from '../shared/decision-schemas.ts'
import { RadiusSchema } from '../shared/download-schemas.ts'
import { FIXED_HERE } from '../shared/evidence-schemas.ts'
import { SeveritySchema } from '../shared/words.ts'
import { flag, SearchText } from './listing.contract.ts'
import { SecurityItem } from './schemas.ts'

const QueueItem = Type.Intersect([
  SecurityItem,
  Type.Object({
    blast_radius: RadiusSchema,
    fix_version: Nullable(Type.String({ description: 'the version of its source that fixes all that holds it' })),
    ...FIXED_HERE,
  }),
])

/** Packages that one decision often fits. */
const QueueGroupSchema = Type.Object(
  {
    key: Type.String(),
    packages_total: Type.Integer(),
    names: Type.Array(Type.String(), { description: 'the first 10' }),
    fix_version: Nullable(Type.String({ description: 'of their source, in groups by `fix`' })),
    exploited_total: Type.Integer({ description: 'packages with a finding that is known to be exploited' }),
    epss_max: Nullable(Type.Number()),
    worst_severity: Nullable(SeveritySchema),
    sla: SlaSchema,
    first: QueueItem,
  },
  { title: 'QueueGroup' },
)

export const getSecurityReviewQueue = declare({
  method: 'GET',
  path: '/security/review-queue',
  tag: 'security',
  summary: 'Packages under review, the most urgent first',
  access: 'auditor+',
  query: Type.Object({
    ...pageQuery(),
    include_findings: flag(true, 'with `cve_results`'),
    q: SearchText,
    severity: Type.Optional(Type.String({ description: 'severities, separated by commas' })),
    distribution: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String({ description: 'values of `held_reason`, separated by commas' })),
    kev: Type.Optional(Type.Boolean({ description: 'whether a finding is known to be exploited' })),
    fix: Type.Optional(Type.Boolean({ description: 'whether a finding is fixed in some version' })),
    assigned_to: Type.Optional(Type.String({ maxLength: 64 })),
    unassigned: Type.Optional(Type.Boolean()),
    sort: Type.Enum([...QUEUE_SORTS], {
      default: 'due',
      description:
        'first the earliest deadline, the risk (known exploited, EPSS in percent, severity, deadline), the worst finding, known exploited ones, the highest EPSS score, the longest wait, or by name',
    }),
    group: Type.Optional(
      Type.Enum([...QUEUE_GROUPS], {
        description:
          'one entry for the packages of one source, with the same findings, or that the same version of their source fixes, in `groups`',
      }),
    ),
    member_of: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1000,
        description: 'with `group`: the packages of the group with this key',
      }),
    ),
  }),
  answer: Type.Intersect(
    [
      pageOf(QueueItem),
      Type.Object({
        groups: Type.Optional(Type.Array(QueueGroupSchema)),
        blocked_count: Type.Integer(),
        review_count: Type.Integer(),
        approval_days: Type.Integer({ description: 'the end to suggest for approvals, as a setting; 0: none' }),
        packages: Type.Array(QueueItem),
      }),
    ],
    { title: 'ReviewQueue' },
  ),
  problems: ['validation_error'],
})
