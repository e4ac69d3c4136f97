// Declarations of /import/mirror: starting runs of mirrors, and their jobs.
import Type from 'typebox'
import { CancelledJob, ended, FromIndex, JobId, JobSchema } from './job-schemas.ts'
import { declare } from '../http/route.ts'
import { JobLine } from '../shared/event-schemas.ts'
import { Nullable } from '../http/schemas.ts'

export const MirrorJob = Type.Intersect(
  [
    JobSchema,
    Type.Object({
      source_id: Type.Integer(),
      distribution: Nullable(Type.String({ description: 'null until the run ended' })),
      added: Type.Integer(),
      pending: Type.Integer(),
      blocked: Type.Integer(),
      skipped: Type.Integer(),
      error: Type.Integer(),
      stopped: Nullable(Type.String({ description: 'the limit that ended the run early' })),
      withdrawn: Type.Integer(),
      removed: Type.Integer(),
      refused: Type.Integer({
        description: 'not fetched: the gate refused the same bytes before, under the same rules',
      }),
      dependencies: Type.Integer({ description: 'of the missing packages those that selected ones need' }),
      unresolved: Type.Integer({
        description: 'what selected packages need and neither the source nor the distribution has',
      }),
      message: Nullable(
        Type.String({ description: 'why the run failed; of one that is done: how many packages failed' }),
      ),
    }),
  ],
  { title: 'MirrorJob' },
)
const Jobs = Type.Object({ jobs: Type.Array(MirrorJob), total: Type.Integer() })

export const postImportMirrorStartSource = declare({
  method: 'POST',
  path: '/import/mirror/start/{source}',
  tag: 'import',
  summary: 'Read the catalog of a source and import what its mirror lacks, as a job',
  access: 'maintainer+',
  limit: 'import',
  flags: { leaderOnly: true },
  params: Type.Object({ source: Type.String({ minLength: 1, maxLength: 100, description: 'number or key' }) }),
  query: Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100_000, description: 'lowers `max_packages_per_run` for this run' }),
    ),
  }),
  answer: Type.Intersect([MirrorJob, Type.Object({ already_running: Type.Boolean() })]),
  problems: ['validation_error', 'not_found', 'unknown_distribution', 'distribution_inactive', 'passive_replica'],
})

export const getImportMirrorJobs = declare({
  method: 'GET',
  path: '/import/mirror/jobs',
  tag: 'import',
  summary: 'The last hundred runs of mirrors, newest first',
  access: 'uploader+',
  answer: Jobs,
  problems: [],
})

export const getImportMirrorJobsActive = declare({
  method: 'GET',
  path: '/import/mirror/jobs/active',
  tag: 'import',
  summary: 'The runs of mirrors that have not ended',
  access: 'uploader+',
  answer: Jobs,
  problems: [],
})

export const getImportMirrorJobsId = declare({
  method: 'GET',
  path: '/import/mirror/jobs/{id}',
  tag: 'import',
  summary: 'A run of a mirror',
  access: 'uploader+',
  params: JobId,
  answer: MirrorJob,
  problems: ['not_found'],
})

export const getImportMirrorJobsIdStream = declare({
  method: 'GET',
  path: '/import/mirror/jobs/{id}/stream',
  tag: 'import',
  summary: 'The lines of a run as events, then the job; continues after `from_index` lines or Last-Event-ID',
  access: 'uploader+',
  limit: 'stream',
  params: JobId,
  query: FromIndex,
  answer: null,
  media: ['text/event-stream'],
  events: { message: Type.Union([JobLine, ended(MirrorJob)]) },
  problems: ['not_found', 'validation_error'],
})

export const postImportMirrorJobsIdCancel = declare({
  method: 'POST',
  path: '/import/mirror/jobs/{id}/cancel',
  tag: 'import',
  summary: 'Cancel a run of a mirror; what it imported stays',
  access: 'maintainer+',
  limit: 'import',
  params: JobId,
  answer: CancelledJob,
  problems: ['not_found'],
})
