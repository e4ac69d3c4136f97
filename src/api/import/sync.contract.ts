// Declarations of /import: syncs of several sources, their jobs and schedule, and what security sources have newer.
import Type from 'typebox'
import { REPO_FORMAT_WORDS } from '../../config/repo-format.ts'
import { CancelledJob, ended, FromIndex, JobId, JobSchema } from './job-schemas.ts'
import { Nullable, pageOf, pageQuery, TimeSchema } from '../http/schemas.ts'
import { declare } from '../http/route.ts'
import { JobLine } from '../shared/event-schemas.ts'

const TARGETS = ['all', ...REPO_FORMAT_WORDS.all]

const Started = Type.Object(
  {
    job_id: Type.Integer(),
    label: Type.String(),
    status: Type.String(),
    total: Type.Integer(),
    already_running: Type.Boolean(),
  },
  { title: 'StartedJob' },
)
const start = {
  method: 'POST' as const,
  tag: 'import',
  access: 'maintainer+' as const,
  limit: 'import' as const,
  flags: { leaderOnly: true },
  answer: Started,
}

const SourceId = Type.Union([Type.Integer({ minimum: 1, maximum: 2_147_483_647 }), Type.String({ maxLength: 100 })])

export const postImportSyncStart = declare({
  ...start,
  flags: { leaderOnly: true, optionalBody: true },
  path: '/import/sync/start',
  example: { security_only: true },
  summary: 'Read the catalogs of several sources, all enabled ones by default; a second call gets the running job',
  body: Type.Object({
    source_ids: Type.Optional(Type.Array(SourceId, { maxItems: 1000 })),
    target: Type.Optional(Type.Enum(TARGETS)),
    security_only: Type.Optional(Type.Boolean()),
  }),
  problems: ['validation_error', 'not_found'],
})

export const postImportSync = declare({
  ...start,
  path: '/import/sync',
  summary: 'Read the catalogs of all enabled sources',
  problems: [],
})

export const postImportSyncSecurity = declare({
  ...start,
  path: '/import/sync-security',
  summary: 'Read the catalogs of the enabled security sources',
  problems: [],
})

export const postImportSyncStartTarget = declare({
  ...start,
  path: '/import/sync/start/{target}',
  summary: 'Read the catalogs of the enabled sources of a type',
  params: Type.Object({ target: Type.Enum(TARGETS) }),
  problems: ['validation_error'],
})

export const postImportSyncSource = declare({
  ...start,
  path: '/import/sync/{source}',
  summary: 'Read the catalog of one source as a job',
  params: Type.Object({ source: Type.String({ minLength: 1, maxLength: 100, description: 'number or key' }) }),
  problems: ['not_found'],
})

export const getImportSyncJobs = declare({
  method: 'GET',
  path: '/import/sync/jobs',
  tag: 'import',
  summary: 'The last hundred sync jobs, newest first',
  access: 'uploader+',
  answer: Type.Object({ jobs: Type.Array(JobSchema), total: Type.Integer() }),
  problems: [],
})

export const getImportSyncJobsActive = declare({
  method: 'GET',
  path: '/import/sync/jobs/active',
  tag: 'import',
  summary: 'The sync jobs that have not ended',
  access: 'uploader+',
  answer: Type.Object({ jobs: Type.Array(JobSchema), total: Type.Integer() }),
  problems: [],
})

export const getImportSyncJobsId = declare({
  method: 'GET',
  path: '/import/sync/jobs/{id}',
  tag: 'import',
  summary: 'A sync job',
  access: 'uploader+',
  params: JobId,
  answer: JobSchema,
  problems: ['not_found'],
})

export const getImportSyncJobsIdStream = declare({
  method: 'GET',
  path: '/import/sync/jobs/{id}/stream',
  tag: 'import',
  summary: 'The lines of a sync job as events, then the job; continues after `from_index` lines or Last-Event-ID',
  access: 'uploader+',
  limit: 'stream',
  params: JobId,
  query: FromIndex,
  answer: null,
  media: ['text/event-stream'],
  events: { message: Type.Union([JobLine, ended(JobSchema)]) },
  problems: ['not_found', 'validation_error'],
})

export const postImportSyncJobsIdCancel = declare({
  method: 'POST',
  path: '/import/sync/jobs/{id}/cancel',
  tag: 'import',
  summary: 'Cancel a sync job; what it has read stays',
  access: 'maintainer+',
  limit: 'import',
  params: JobId,
  answer: CancelledJob,
  problems: ['not_found'],
})

export const getImportSyncStatus = declare({
  method: 'GET',
  path: '/import/sync-status',
  tag: 'import',
  summary: 'The state of the catalog of each source',
  access: 'uploader+',
  answer: Type.Object(
    {
      sources: Type.Array(
        Type.Object({
          source_id: Type.Integer(),
          label: Type.String(),
          last_sync: Nullable(TimeSchema),
          pkg_count: Type.Integer(),
          left_out: Type.Integer(),
          status: Type.String(),
          error: Nullable(Type.String()),
          security: Type.Boolean(),
          enabled: Type.Boolean(),
          format: Type.String(),
        }),
      ),
      total: Type.Integer(),
    },
    { title: 'SyncStatus' },
  ),
  problems: [],
})

const Counts = Type.Object({ sources: Type.Integer(), synced: Type.Integer(), packages: Type.Integer() })

export const getImportStats = declare({
  method: 'GET',
  path: '/import/stats',
  tag: 'import',
  summary: 'How many sources there are, and how many packages they offer',
  access: 'uploader+',
  answer: Type.Object(
    {
      sources: Type.Integer(),
      enabled: Type.Integer(),
      synced: Type.Integer(),
      failing: Type.Integer(),
      packages: Type.Integer(),
      security_updates: Type.Integer(),
      last_sync: Nullable(TimeSchema),
      formats: Type.Record(Type.String(), Counts),
    },
    { title: 'ImportStats' },
  ),
  problems: [],
})

export const getImportSyncSchedule = declare({
  method: 'GET',
  path: '/import/sync-schedule',
  tag: 'import',
  summary: 'When security sources are read',
  access: 'uploader+',
  answer: Type.Object(
    {
      schedule: Type.String(),
      cron: Type.String(),
      timezone: Type.String(),
      enabled: Type.Boolean(),
      security_sources: Type.Array(Type.Object({ source_id: Type.Integer(), label: Type.String() })),
    },
    { title: 'SyncSchedule' },
  ),
  problems: [],
})

export const getImportSecurityUpdates = declare({
  method: 'GET',
  path: '/import/security-updates',
  tag: 'import',
  summary: 'Published packages of which a security source has a newer version, as of its last sync',
  access: 'uploader+',
  query: Type.Object({ ...pageQuery(), distribution: Type.Optional(Type.String({ maxLength: 100 })) }),
  answer: pageOf(
    Type.Object({
      package: Type.String(),
      version: Type.String(),
      arch: Type.String(),
      distribution: Type.String(),
      findings: Type.Integer({ description: 'known vulnerabilities of the published version' }),
      newer_version: Type.String(),
      source: Type.Object({ id: Type.Integer(), name: Type.String() }),
      found_at: TimeSchema,
    }),
  ),
  problems: ['validation_error'],
})
