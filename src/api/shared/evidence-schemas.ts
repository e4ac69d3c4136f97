// Schemas of what the gate found about a package: its steps, their coverage, vulnerabilities and audit entries.
import Type from 'typebox'
import { FixStateSchema, PolicyActionSchema, SeveritySchema } from './words.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'

/** What an engine unpacks at most; null: no known limit. */
export const EngineLimitsSchema = Type.Object(
  {
    reports_exceeded: Type.Boolean(),
    reports_encrypted: Type.Boolean(),
    depth: Nullable(Type.Integer()),
    files: Nullable(Type.Integer()),
    bytes: Nullable(Type.Integer()),
    file_bytes: Nullable(Type.Integer()),
  },
  { title: 'EngineLimits' },
)

export const CoverageSchema = Type.Object(
  {
    engine: Nullable(Type.String()),
    engine_version: Nullable(Type.String()),
    database_date: Nullable(Type.String()),
    distro_matched: Nullable(Type.String()),
    files_seen: Type.Integer(),
    files_skipped: Type.Array(Type.Object({ name: Type.String(), reason: Type.String() })),
    bytes: Type.Integer(),
    result: Type.Optional(Type.Enum(['scanned', 'limited', 'no_data'])),
    other_streams: Type.Optional(Type.Array(Type.Object({ stream: Type.String(), advisories: Type.Integer() }))),
    engine_limits: Type.Optional(EngineLimitsSchema),
  },
  { title: 'Coverage' },
)

export const ValidationStepSchema = Type.Object(
  {
    name: Type.String(),
    passed: Type.Boolean(),
    message: Type.String(),
    detail: Type.Unknown(),
    warning: Type.Optional(Type.Boolean()),
    coverage: Type.Optional(CoverageSchema),
  },
  { title: 'ValidationStep' },
)

/** Where a fix is in the distribution of the package. */
export const FIXED_HERE = {
  fixed_here: Nullable(Type.String({ description: 'the newest published version of this package that has the fix' })),
  fixed_waiting: Nullable(Type.String({ description: 'the newest version of it under review that has the fix' })),
}

export const FindingSchema = Type.Object(
  {
    id: Type.String(),
    severity: SeveritySchema,
    cvss: Nullable(Type.Number()),
    description: Nullable(Type.String()),
    package_name: Type.String(),
    package_version: Type.String(),
    package_type: Type.String(),
    fix_state: FixStateSchema,
    fix_versions: Type.Array(Type.String()),
    urls: Type.Array(Type.String()),
    epss: Nullable(Type.Number()),
    epss_percent: Nullable(Type.Number()),
    epss_label: Nullable(Type.String()),
    in_kev: Type.Boolean(),
    action: PolicyActionSchema,
    first_seen: Type.String(),
    sources: Type.Array(Type.String()),
    aliases: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'ids of the advisories it was found by, and their aliases; absent until the next match after an upgrade',
      }),
    ),
    accepted_by_decision: Type.Boolean(),
    fixed_here: Type.Optional(FIXED_HERE.fixed_here),
    fixed_waiting: Type.Optional(FIXED_HERE.fixed_waiting),
    fix_available: Type.Optional(
      Type.Object(
        {
          source_id: Type.Integer(),
          source: Type.String(),
          package: Type.String(),
          version: Type.String(),
          arch: Type.String(),
          distribution: Type.String(),
        },
        { description: 'a synced source has the fix; what to send to /import/packages' },
      ),
    ),
    components: Type.Optional(
      Type.Array(
        Type.Object({
          name: Type.String(),
          version: Type.String(),
          type: Type.String(),
          severity: SeveritySchema,
          fix_state: FixStateSchema,
          fix_versions: Type.Array(Type.String()),
        }),
      ),
    ),
  },
  { title: 'Finding' },
)

/** Why a package is under review again. */
export const ReviewReasonSchema = Type.Object(
  {
    id: Type.String(),
    reason: Type.Enum(['new', 'severity_raised', 'known_exploited']),
    severity: SeveritySchema,
  },
  { title: 'ReviewReason' },
)

/** Where a finding is, in lists of several packages. */
export const PackageFindingSchema = Type.Intersect(
  [
    FindingSchema,
    Type.Object({
      package: Type.String(),
      version: Type.String(),
      arch: Type.String(),
      distribution: Type.String(),
      status: Type.String(),
      served: Type.Boolean(),
    }),
  ],
  { title: 'PackageFinding' },
)

export const AuditEntrySchema = Type.Object(
  {
    timestamp: TimeSchema,
    action: Type.String(),
    result: Type.Enum(['SUCCESS', 'FAILURE', 'WARNING']),
    user: Nullable(Type.String()),
    package: Nullable(Type.String()),
    version: Nullable(Type.String()),
    distribution: Nullable(Type.String()),
    arch: Nullable(Type.String()),
    detail: Nullable(Type.String()),
    outcome: Nullable(Type.String()),
    ip: Nullable(Type.String()),
    request_id: Nullable(Type.String()),
    extra: Type.Object({}, { additionalProperties: true }),
    prev_hash: Nullable(Type.String()),
    hash: Nullable(Type.String()),
    seq: Nullable(Type.Integer()),
    mac: Nullable(Type.String()),
  },
  { title: 'AuditEntry' },
)
