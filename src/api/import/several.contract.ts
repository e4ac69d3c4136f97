// Declarations of importing several packages: in one answer, as a stream, and as a task.
import Type, { type Static } from 'typebox'
import { IMPORT_OUTCOMES } from '../../domain/import-outcome.ts'
import type { Target } from '../../domain/scopes.ts'
import { Nullable } from '../http/schemas.ts'
import { JobId, JobSchema } from './job-schemas.ts'
import { declare } from '../http/route.ts'
import { ErrorEvent } from '../shared/event-schemas.ts'

const Text = Type.String({ minLength: 1, maxLength: 300 })
const SourceId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

/** Most packages of a task; the body of a request is limited to 1 MB besides. */
const MOST_IN_BULK = 20_000

const severalBody = (maxItems: number) =>
  Type.Object({
    packages: Type.Array(
      Type.Union([
        Text,
        Type.Object({
          package: Text,
          version: Type.Optional(Text),
          arch: Type.Optional(Text),
          source_id: Type.Optional(SourceId),
        }),
      ]),
      { minItems: 1, maxItems, description: 'names, or objects; without a version the newest' },
    ),
    source_id: Type.Optional(SourceId),
    distribution: Text,
    group: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'import group of the records' })),
    with_dependencies: Type.Optional(Type.Boolean()),
  })

const Several = { ...severalBody(50), title: 'ImportBody' }

/** What an import changes. Dependencies can have any name. */
function targetsOf({
  body: { packages, distribution, with_dependencies },
}: {
  body: Static<ReturnType<typeof severalBody>>
}): Target[] {
  const names = packages.map((one) => ({ name: typeof one === 'string' ? one : one.package, distribution }))
  return with_dependencies ? [...names, { distribution }] : names
}

export const ImportResult = Type.Object(
  {
    source_id: Type.Integer(),
    package: Type.String(),
    version: Nullable(Type.String()),
    arch: Nullable(Type.String()),
    status: Type.Enum([...IMPORT_OUTCOMES]),
    code: Nullable(Type.String()),
    detail: Nullable(Type.String()),
  },
  { title: 'ImportResult' },
)

const TOTALS = {
  success: Type.Boolean({ description: 'no package ended in an error' }),
  imported: Type.Integer({ description: 'new records that are published or held for review' }),
  errors: Type.Integer(),
  counts: Type.Object(Object.fromEntries(IMPORT_OUTCOMES.map((outcome) => [outcome, Type.Integer()]))),
}

const Summary = Type.Object(
  {
    ...TOTALS,
    results: Type.Array(ImportResult),
    error_details: Type.Array(ImportResult),
  },
  { title: 'ImportSummary' },
)

const ImportEnd = Type.Object({ status: Type.Literal('done'), ...TOTALS }, { title: 'ImportEnd' })

const SEVERAL_PROBLEMS = ['validation_error', 'unknown_distribution', 'distribution_inactive'] as const

export const postImport = declare({
  method: 'POST',
  path: '/import',
  tag: 'import',
  summary: 'Import several packages of sources; one that fails does not stop the others',
  example: { packages: ['nginx'], distribution: 'bookworm', with_dependencies: true },
  access: 'uploader+',
  idempotencyKey: true,
  action: 'import',
  targets: targetsOf,
  limit: 'import',
  flags: { leaderOnly: true },
  body: Several,
  answer: Summary,
  problems: SEVERAL_PROBLEMS,
})

const stream = {
  method: 'POST',
  tag: 'import',
  access: 'uploader+',
  action: 'import',
  targets: targetsOf,
  limit: 'import',
  flags: { leaderOnly: true },
  body: Several,
  answer: null,
  media: ['text/event-stream'],
  events: { result: ImportResult, end: Type.Union([ImportEnd, ErrorEvent]) },
  problems: SEVERAL_PROBLEMS,
} as const

export const postImportFetch = declare({
  ...stream,
  path: '/import/fetch',
  example: { packages: ['nginx'], distribution: 'bookworm' },
  summary: 'The same as a stream: one `result` for each package, then `end` with the counts',
})
export const postImportBatch = declare({
  ...stream,
  path: '/import/batch',
  summary: 'The same as `/import/fetch`',
  example: { packages: ['nginx', 'curl'], distribution: 'bookworm' },
})

export const postImportBulk = declare({
  method: 'POST',
  path: '/import/bulk',
  tag: 'import',
  summary: 'Import many packages of sources as a task',
  example: { packages: ['nginx', 'curl'], distribution: 'bookworm', with_dependencies: true },
  access: 'uploader+',
  idempotencyKey: true,
  action: 'import',
  targets: targetsOf,
  limit: 'import',
  flags: { leaderOnly: true },
  body: severalBody(MOST_IN_BULK),
  answer: JobSchema,
  problems: [...SEVERAL_PROBLEMS, 'not_found'],
})

export const getImportBulkId = declare({
  method: 'GET',
  path: '/import/bulk/{id}',
  tag: 'import',
  summary: 'A bulk import and its results, 200 at a time',
  access: 'uploader+',
  params: JobId,
  query: Type.Object({
    from: Type.Integer({ minimum: 0, maximum: 10_000_000, default: 0, description: 'position of the first result' }),
  }),
  answer: Type.Intersect(
    [JobSchema, Summary, Type.Object({ distribution: Type.String(), group: Nullable(Type.String()) })],
    { title: 'BulkImport' },
  ),
  problems: ['validation_error', 'not_found'],
})
