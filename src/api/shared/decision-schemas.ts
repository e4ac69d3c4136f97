// Schemas of decisions and deadlines, which records and lists show.
import Type from 'typebox'
import { Nullable, TimeSchema } from '../http/schemas.ts'
import { DecisionActionSchema, PackageStatusSchema } from './words.ts'

const count = Type.Integer()
export const CountsSchema = Type.Object(
  { critical: count, high: count, medium: count, low: count, negligible: count, unknown: count },
  { title: 'SeverityCounts' },
)

/** The deadline of a review or of an exception. */
export const SlaSchema = Type.Object(
  {
    has_sla: Type.Boolean(),
    expires_at: Nullable(TimeSchema),
    remaining_days: Nullable(Type.Integer()),
    days_remaining: Nullable(Type.Integer({ deprecated: true, description: '`remaining_days`' })),
    expired: Type.Boolean(),
    warning: Type.Boolean({ description: 'seven days or less are left' }),
    status: Type.Enum(['permanent', 'active', 'expiring_soon', 'expired']),
  },
  { title: 'Sla' },
)

export const DecisionSchema = Type.Object(
  {
    id: Type.Integer(),
    package: Type.String(),
    version: Type.String(),
    arch: Type.String(),
    distribution: Type.String(),
    sha256: Type.String(),
    decision: Nullable(Type.Enum(['approve', 'reject'])),
    action: DecisionActionSchema,
    status: PackageStatusSchema,
    previous_status: PackageStatusSchema,
    justification: Type.String(),
    decided_by: Type.String(),
    decided_at: TimeSchema,
    expires_in_days: Nullable(Type.Integer()),
    expires_at: Nullable(TimeSchema),
    target_version: Nullable(Type.String({ description: 'the version that has to replace it' })),
    cve_ids: Type.Array(Type.String(), { description: 'the findings it covers' }),
    policy_snapshot: Type.Object({}, { additionalProperties: true, description: 'the CVE policy at that time' }),
    active: Type.Boolean(),
    assigned_to: Nullable(Type.String()),
    assigned_at: Nullable(TimeSchema),
    resolved_at: Nullable(TimeSchema),
    resolved_by: Nullable(Type.String()),
    resolution_note: Nullable(Type.String()),
    sla: SlaSchema,
  },
  { title: 'Decision' },
)

export const DecisionAnswer = Type.Object(
  { status: Type.String({ description: '`ok`, `withdrawn` or `resolved`' }), decision: DecisionSchema },
  { title: 'DecisionAnswer' },
)
