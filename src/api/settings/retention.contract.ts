// Declaration of /settings/run-retention: removes data older than the settings keep.
import Type from 'typebox'
import { declare } from '../http/route.ts'
import { Nullable } from '../http/schemas.ts'

const count = Type.Integer()
/** The result of a failed step, in place of its counts. */
const Failed = Type.Object({ error: Type.String() }, { title: 'FailedStep' })

const RetentionResultSchema = Type.Object({
  audit: Type.Union([
    Type.Object({
      entries: count,
      files: count,
      refused: Type.Optional(Nullable(Type.String({ description: 'why old days are kept' }))),
    }),
    Failed,
  ]),
  evidence: Type.Union([Type.Object({ rows: count, finding_sets: Type.Optional(count) }), Failed]),
  imports: Type.Union([Type.Object({ tasks: count, files: count, catalog_rows: Type.Optional(count) }), Failed]),
  quarantine: Type.Union([Type.Object({ packages: count }), Failed]),
  access_logs: Type.Union([Type.Object({ files: count, rotated: Type.Optional(count), downloads: count }), Failed]),
  versions: Type.Union([
    Type.Object({
      packages: count,
      needed: count,
      changing: Type.Optional(Type.Integer({ description: 'skipped because they were changed meanwhile' })),
      listed: Type.Optional(
        Type.Array(
          Type.Object({
            distribution: Type.String(),
            name: Type.String(),
            version: Type.String(),
            arch: Type.String(),
            goes: Type.Boolean(),
            why: Type.String(),
          }),
          { maxItems: 100 },
        ),
      ),
    }),
    Failed,
  ]),
})

export const postSettingsRunRetention = declare({
  method: 'POST',
  path: '/settings/run-retention',
  tag: 'settings',
  summary: 'Remove what is older than the settings keep, or show what would be removed',
  example: { dry_run: true },
  access: 'admin',
  flags: { needsLeader: true, optionalBody: true },
  body: Type.Object({
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'counts and lists only' })),
  }),
  answer: Type.Object(
    {
      status: Type.Literal('ok'),
      dry_run: Type.Boolean(),
      result: RetentionResultSchema,
      task_id: Type.Integer(),
    },
    { title: 'RetentionRun' },
  ),
  problems: [
    'already_running',
    'storage_full',
    'publication_failed',
    'storage_unavailable',
    'shutting_down',
    'task_cancelled',
  ],
})
