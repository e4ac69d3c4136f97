// Declarations of actions on held packages: decide, rescan, quarantine; and the decisions about one version.
import Type from 'typebox'
import { DryRun } from '../shared/breakage-schemas.ts'
import { CoverageSchema, ReviewReasonSchema } from '../shared/evidence-schemas.ts'
import { DecisionActionSchema, PackageStatusSchema } from '../shared/words.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'
import { CountsSchema, DecisionAnswer, DecisionSchema, SlaSchema } from '../shared/decision-schemas.ts'
import {
  DECISION_FIELDS,
  DecisionBodySchema,
  NameVersion,
  NARROWED_BODY,
  Narrowed,
  SeenDigest,
  targetsOf,
} from './schemas.ts'
import { RecordSchema } from '../shared/records.ts'
import { declare } from '../http/route.ts'

export const MAX_NOTE = 2000

/** One record that was scanned again. */
const Rescanned = Type.Object(
  {
    distribution: Type.String(),
    arch: Type.String(),
    cve_scan: Type.String(),
    cve_count: Type.Integer(),
    cve_counts: CountsSchema,
    previous_status: PackageStatusSchema,
    new_status: PackageStatusSchema,
    new_cve_ids: Type.Array(Type.String()),
    dropped_cve_ids: Type.Array(Type.String()),
    reasons: Type.Array(ReviewReasonSchema),
    scanned_at: TimeSchema,
    db_version: Nullable(Type.String()),
    coverage: Nullable(CoverageSchema),
  },
  { title: 'RescannedRecord' },
)

export const postSecurityPackagesNameVersionDecide = declare({
  method: 'POST',
  path: '/security/packages/{name}/{version}/decide',
  tag: 'security',
  summary: 'Approve or reject a held version; answers once clients see the change',
  example: { decision: 'approve', justification: 'the vulnerable function is not called', expires_in_days: 30 },
  access: 'maintainer+',
  idempotencyKey: true,
  action: 'review',
  targets: targetsOf,
  params: NameVersion,
  query: Narrowed,
  body: DecisionBodySchema,
  answer: Type.Object(
    {
      status: Type.Literal('ok'),
      package: Type.String(),
      version: Type.String(),
      decision: DecisionSchema,
      decisions: Type.Array(DecisionSchema),
      action: DecisionActionSchema,
      new_status: PackageStatusSchema,
      message: Type.String(),
    },
    { title: 'DecideAnswer' },
  ),
  problems: [
    'not_found',
    'not_under_review',
    'ambiguous',
    'bytes_changed',
    'self_approval',
    'publication_failed',
    'storage_unavailable',
    'storage_full',
  ],
})

/** Packages that one request decides about. */
const MOST_DECIDED = 200

export const postSecurityDecisionsBulk = declare({
  method: 'POST',
  path: '/security/decisions/bulk',
  tag: 'security',
  summary: 'Decide about several held packages with one reason; each distribution is published once',
  example: {
    decision: 'approve',
    items: [{ package: 'acme-tool', version: '1.4.2-1' }],
    justification: 'the vulnerable function is not called',
    expires_in_days: 30,
  },
  access: 'maintainer+',
  idempotencyKey: true,
  action: 'review',
  targets: ({ body }) =>
    body.items.map((item) => ({ name: item.package, distribution: item.distribution ?? undefined })),
  body: Type.Object(
    {
      items: Type.Array(
        Type.Object({
          package: Type.String({ minLength: 1 }),
          version: Type.String({ minLength: 1 }),
          distribution: Type.Optional(Nullable(Type.String())),
          arch: Type.Optional(Nullable(Type.String())),
          sha256: SeenDigest,
        }),
        { minItems: 1, maxItems: MOST_DECIDED },
      ),
      ...DECISION_FIELDS,
      dry_run: DryRun,
    },
    { title: 'BulkDecisionBody' },
  ),
  answer: Type.Object(
    {
      status: Type.Enum(['ok', 'partial', 'failed', 'dry_run']),
      decided: Type.Integer({ description: 'items that are decided, or would be' }),
      failed: Type.Integer(),
      publishes: Type.Array(Type.String(), { description: 'distributions whose clients see a change' }),
      items: Type.Array(
        Type.Object({
          package: Type.String(),
          version: Type.String(),
          result: Type.Enum(['decided', 'failed']),
          records: Type.Array(
            Type.Object({
              distribution: Type.String(),
              arch: Type.String(),
              status: PackageStatusSchema,
              effect: Type.Enum(['offers', 'withdraws', 'none'], { description: 'for clients' }),
            }),
          ),
          decisions: Type.Array(DecisionSchema),
          code: Nullable(Type.String({ description: 'why it failed, as the status of one decision' })),
          detail: Nullable(Type.String()),
          candidates: Type.Optional(
            Type.Array(
              Type.Object({
                distribution: Type.String(),
                arch: Type.String(),
                sha256: Type.String(),
                held_reason: Nullable(Type.String()),
                cve_ids: Type.Array(Type.String()),
              }),
              { description: 'of an ambiguous one: what to name' },
            ),
          ),
        }),
        { description: 'in the order of the request' },
      ),
    },
    { title: 'BulkDecisions' },
  ),
  problems: ['validation_error'],
})

export const postSecurityPackagesNameVersionRescan = declare({
  method: 'POST',
  path: '/security/packages/{name}/{version}/rescan',
  tag: 'security',
  summary: 'Scan a version again with the current data; never publishes or approves',
  example: { distribution: 'bookworm' },
  access: 'maintainer+',
  action: 'review',
  targets: targetsOf,
  flags: { optionalBody: true },
  params: NameVersion,
  query: Narrowed,
  body: Type.Object(NARROWED_BODY),
  answer: Type.Intersect(
    [
      Type.Object({
        status: Type.Literal('ok'),
        package: Type.String(),
        version: Type.String(),
        records: Type.Array(Rescanned),
      }),
      Rescanned,
    ],
    { title: 'Rescan' },
  ),
  problems: [
    'validation_error',
    'not_found',
    'scanner_unavailable',
    'reader_unavailable',
    'storage_unavailable',
    'timeout',
  ],
})

export const postSecurityPackagesNameVersionQuarantine = declare({
  method: 'POST',
  path: '/security/packages/{name}/{version}/quarantine',
  tag: 'security',
  summary: 'Unpublish a version and move its files to quarantine',
  example: { reason: 'the build machine was broken into' },
  access: 'maintainer+',
  action: 'review',
  targets: targetsOf,
  flags: { optionalBody: true },
  params: NameVersion,
  query: Narrowed,
  body: Type.Object({
    ...NARROWED_BODY,
    reason: Type.Optional(Nullable(Type.String({ description: `at most ${MAX_NOTE} characters` }))),
    justification: Type.Optional(Nullable(Type.String({ deprecated: true, description: '`reason`' }))),
  }),
  answer: Type.Object(
    {
      status: Type.Literal('quarantined'),
      package: Type.String(),
      version: Type.String(),
      distributions: Type.Array(Type.String()),
      message: Type.String(),
    },
    { title: 'Quarantined' },
  ),
  problems: [
    'validation_error',
    'not_found',
    'not_under_review',
    'publication_failed',
    'storage_unavailable',
    'storage_full',
  ],
})

export const getSecurityPackagesNameVersionDecision = declare({
  method: 'GET',
  path: '/security/packages/{name}/{version}/decision',
  tag: 'security',
  summary: 'The record of a version, its active decision and its deadline',
  access: 'auditor+',
  params: NameVersion,
  query: Narrowed,
  answer: Type.Object(
    {
      manifest: RecordSchema,
      decision: Nullable(DecisionSchema),
      sla: SlaSchema,
      status: PackageStatusSchema,
    },
    { title: 'RecordDecision' },
  ),
  problems: ['not_found'],
})

export const postSecurityPackagesNameVersionDecisionResolve = declare({
  method: 'POST',
  path: '/security/packages/{name}/{version}/decision/resolve',
  tag: 'security',
  summary: 'Record that the action required by a decision is done',
  example: { note: 'replaced by 1.4.3-1' },
  access: 'maintainer+',
  action: 'review',
  targets: targetsOf,
  params: NameVersion,
  query: Narrowed,
  body: Type.Object({ note: Type.String({ minLength: 1, maxLength: MAX_NOTE }) }),
  answer: DecisionAnswer,
  problems: ['not_found'],
})
