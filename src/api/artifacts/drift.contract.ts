// Declarations of the drift scan: starting it, and what it found.
import Type from 'typebox'
import { DRIFT_AREAS, DRIFT_FAULTS, REMEDY_ACTIONS } from '../../domain/drift.ts'
import { DryRun } from '../shared/breakage-schemas.ts'
import { declare } from '../http/route.ts'
import { Nullable, pageOf, pageQuery, TimeSchema } from '../http/schemas.ts'

const FindingSchema = Type.Object(
  {
    subject: Type.String({
      description: 'path of the file below REPOS_DIR, or object:<format>/<SHA-256> in the object store',
    }),
    area: Type.Enum([...DRIFT_AREAS]),
    fault: Type.Enum([...DRIFT_FAULTS]),
    distribution: Nullable(Type.String()),
    sha256: Nullable(Type.String()),
    detail: Type.String(),
    since: TimeSchema,
    last_seen: TimeSchema,
    resolved_at: Nullable(TimeSchema),
    resolution: Nullable(Type.Enum(['repaired', 'gone'])),
  },
  { title: 'DriftFinding' },
)

export const postArtifactsAdminDriftScan = declare({
  method: 'POST',
  path: '/artifacts/admin/drift-scan',
  tag: 'artifacts',
  summary: 'Start a comparison of the database with the pool and the published trees',
  access: 'maintainer+',
  flags: { needsLeader: true },
  answer: Type.Object({ status: Type.Literal('queued'), task_id: Type.Integer() }),
  problems: [],
})

export const getArtifactsAdminDrift = declare({
  method: 'GET',
  path: '/artifacts/admin/drift',
  tag: 'artifacts',
  summary: 'Files that differ from what was stored, the latest findings first',
  access: 'auditor+',
  query: Type.Object({
    ...pageQuery(),
    state: Type.Enum(['open', 'resolved'], { default: 'open' }),
    area: Type.Optional(Type.Enum([...DRIFT_AREAS])),
    distribution: Type.Optional(Type.String({ maxLength: 200 })),
  }),
  answer: Type.Intersect(
    [
      pageOf(FindingSchema),
      Type.Object({
        scan: Type.Object({
          status: Type.Enum(['clean', 'drift', 'stale', 'unknown']),
          last_scan: Nullable(TimeSchema),
          age_seconds: Nullable(Type.Integer()),
        }),
      }),
    ],
    { title: 'DriftPage' },
  ),
  problems: ['validation_error'],
})

export const postArtifactsAdminRepair = declare({
  method: 'POST',
  path: '/artifacts/admin/repair',
  tag: 'artifacts',
  summary: 'Repair what the drift scan found; returns when it is done',
  example: { dry_run: true },
  access: 'admin',
  flags: { needsLeader: true, optionalBody: true },
  body: Type.Object({
    dry_run: DryRun,
    max_removed: Type.Optional(
      Type.Integer({
        ...{ minimum: 0, maximum: 10_000_000, default: 100 },
        description: 'with more lost files none is given up, and with more unknown files none is deleted',
      }),
    ),
  }),
  answer: Type.Object(
    {
      status: Type.Enum(['ok', 'dry_run']),
      findings: Type.Integer({ description: 'that were open' }),
      resolved: Type.Integer(),
      results: Type.Array(
        Type.Object({
          subject: Type.String(),
          area: Type.Enum([...DRIFT_AREAS]),
          fault: Type.Enum([...DRIFT_FAULTS]),
          action: Type.Enum([...REMEDY_ACTIONS]),
          detail: Type.String(),
          resolved: Nullable(Type.Boolean({ description: 'null in a dry run' })),
        }),
        { maxItems: 50 },
      ),
      task_id: Type.Integer(),
    },
    { title: 'Repair' },
  ),
  problems: ['task_cancelled'],
})
