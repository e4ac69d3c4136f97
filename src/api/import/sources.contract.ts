// Declarations of /import: sources, their catalogs, and importing packages from them.
import Type from 'typebox'
import { REPO_FORMAT_WORDS } from '../../config/repo-format.ts'
import { PIPELINE_PROBLEMS, UploadAnswer } from '../upload/upload.contract.ts'
import { ImportResult } from './several.contract.ts'
import { listOf, Nullable, TimeSchema } from '../http/schemas.ts'
import { FormatSchema } from '../shared/words.ts'
import { declare } from '../http/route.ts'

const words = (maxItems: number) => Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems })

/** The fields of a source that people set. */
const FIELDS = {
  name: Type.String({ minLength: 1, maxLength: 200 }),
  url: Type.String({
    pattern: '^(https?|file)://',
    maxLength: 2048,
    description: 'of the repository; file: below IMPORT_DIRECTORIES',
  }),
  mirrors: Nullable(Type.Enum(['metalink', 'mirrorlist'], { description: 'what `url` is the address of' })),
  distribution: Nullable(Type.String({ minLength: 1, maxLength: 200, description: 'apt: the suite' })),
  components: words(50),
  arch: Type.String({ minLength: 1, maxLength: 50 }),
  architectures: words(20),
  gpg_key: Nullable(
    Type.String({ maxLength: 500_000, description: 'armored OpenPGP keys; apk: the public key in PEM' }),
  ),
  allow_unsigned: Type.Boolean({ description: 'a source without a key may be read' }),
  target: Nullable(
    Type.String({
      maxLength: 100,
      description: 'distribution that takes its packages; of an apt suite, the one of that name',
    }),
  ),
  enabled: Type.Boolean(),
  security: Type.Boolean({ description: 'carries security updates: part of the daily sync' }),
}

const SourceFields = Type.Partial(Type.Object(FIELDS), { title: 'SourceFields' })

export const NotCarriedSchema = Type.Array(
  Type.Object(
    { what: Type.String(), count: Nullable(Type.Integer()), names: Type.Array(Type.String()) },
    { title: 'NotCarried' },
  ),
  { description: 'what the source has and nothing reads: architectures, components, modules, …' },
)

const SourceSchema = Type.Object(
  {
    id: Type.Integer(),
    key: Nullable(Type.String()),
    name: Type.String(),
    type: Type.String(),
    url: Type.String(),
    mirrors: Nullable(Type.Enum(['metalink', 'mirrorlist'])),
    distribution: Nullable(Type.String()),
    components: Type.Array(Type.String()),
    arch: Nullable(Type.String({ description: 'the first of `architectures`' })),
    architectures: Type.Array(Type.String()),
    target: Nullable(Type.String()),
    enabled: Type.Boolean(),
    security: Type.Boolean(),
    allow_unsigned: Type.Boolean(),
    has_key: Type.Boolean(),
    status: Type.Enum(['never', 'syncing', 'ok', 'error']),
    last_sync: Nullable(TimeSchema),
    pkg_count: Type.Integer(),
    not_carried: NotCarriedSchema,
    left_out: Type.Integer({ description: 'entries of its indexes that are no packages this service takes' }),
    error: Nullable(Type.String()),
    signed_by: Type.Array(Type.String()),
    created_at: TimeSchema,
    created_by: Type.String(),
    updated_at: Nullable(TimeSchema),
  },
  { title: 'Source' },
)
/** What people change of a source. A key is not among its answers, but `updated_at` changes with it. */
const EDITED = [
  ...['name', 'url', 'mirrors', 'distribution', 'components', 'architectures', 'target', 'enabled', 'security'],
  ...['allow_unsigned', 'has_key', 'updated_at'],
]

const Id = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 100, description: 'number or key of the source', examples: ['7'] }),
})

export const getImportSources = declare({
  method: 'GET',
  path: '/import/sources',
  tag: 'import',
  summary: 'The upstream repositories that packages can be imported from',
  access: 'uploader+',
  answer: listOf('sources', SourceSchema),
  problems: [],
})

export const getImportSourcesId = declare({
  method: 'GET',
  path: '/import/sources/{id}',
  tag: 'import',
  summary: 'An upstream repository',
  access: 'uploader+',
  edited: EDITED,
  params: Id,
  answer: SourceSchema,
  problems: ['not_found'],
})

export const postImportSources = declare({
  method: 'POST',
  path: '/import/sources',
  tag: 'import',
  summary: 'Add an upstream repository',
  example: {
    name: 'debian',
    type: 'apt',
    url: 'https://deb.example.com/debian',
    distribution: 'bookworm',
    components: ['main'],
    architectures: ['amd64'],
    target: 'bookworm',
  },
  access: 'maintainer+',
  idempotencyKey: true,
  limit: 'import',
  body: Type.Intersect(
    [Type.Object({ name: FIELDS.name, type: Type.Enum([...REPO_FORMAT_WORDS.all]), url: FIELDS.url }), SourceFields],
    { title: 'NewSource' },
  ),
  success: 201,
  answer: SourceSchema,
  problems: ['validation_error', 'already_exists', 'forbidden_target'],
})

export const patchImportSourcesId = declare({
  method: 'PATCH',
  path: '/import/sources/{id}',
  tag: 'import',
  summary: 'Change an upstream repository',
  example: { enabled: false },
  access: 'maintainer+',
  edited: EDITED,
  params: Id,
  body: SourceFields,
  answer: SourceSchema,
  problems: ['validation_error', 'not_found', 'already_exists', 'forbidden_target'],
})

export const deleteImportSourcesId = declare({
  method: 'DELETE',
  path: '/import/sources/{id}',
  tag: 'import',
  summary: 'Delete an upstream repository and its catalog; imported packages stay',
  access: 'maintainer+',
  edited: EDITED,
  params: Id,
  answer: Type.Object({ status: Type.Literal('deleted'), id: Type.Integer(), name: Type.String() }),
  problems: ['not_found', 'built_in_source'],
})

const SyncProgress = Type.Object(
  {
    status: Type.String({ description: 'started, downloading, verifying, syncing, then done or error' }),
    count: Nullable(Type.Integer({ description: 'packages so far; with `done` those of the source' })),
    message: Type.String(),
    source_id: Type.Integer(),
  },
  {
    title: 'SyncProgress',
    additionalProperties: true,
    description: 'with `done` also `left_out`, with `error` the keys of `Error`',
  },
)

export const postImportSourcesIdSync = declare({
  method: 'POST',
  path: '/import/sources/{id}/sync',
  tag: 'import',
  summary: 'Read the catalog of a source; a stream of `{status, count, message, source_id}`',
  access: 'maintainer+',
  limit: 'import',
  flags: { leaderOnly: true },
  params: Id,
  answer: null,
  media: ['text/event-stream'],
  events: { message: SyncProgress },
  problems: ['not_found', 'passive_replica'],
})

export const getImportSearch = declare({
  method: 'GET',
  path: '/import/search',
  tag: 'import',
  summary: 'Packages in the catalogs of the sources, by words of the name',
  access: 'uploader+',
  query: Type.Object({
    q: Type.String({ minLength: 1, maxLength: 200 }),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
    source_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
    format: Type.Optional(FormatSchema),
    distro: Type.Optional(Type.String({ maxLength: 200 })),
  }),
  answer: Type.Object(
    {
      query: Type.String(),
      count: Type.Integer(),
      total: Type.Integer(),
      more: Type.Boolean(),
      results: Type.Array(
        Type.Object({
          name: Type.String(),
          version: Type.String(),
          arch: Type.String(),
          section: Nullable(Type.String()),
          description: Nullable(Type.String()),
          depends: Type.Array(Type.String()),
          size: Type.Integer(),
          sha256: Nullable(Type.String()),
          distro: Nullable(Type.String()),
          source_id: Type.Integer(),
          synced_at: TimeSchema,
          security: Type.Boolean(),
          format: Type.String(),
          sources: Type.Array(
            Type.Object({ source_id: Type.Integer(), distro: Nullable(Type.String()), security: Type.Boolean() }),
          ),
        }),
      ),
    },
    { title: 'CatalogPage' },
  ),
  problems: ['validation_error', 'index_empty'],
})

export const postImportPackages = declare({
  method: 'POST',
  path: '/import/packages',
  tag: 'import',
  summary: 'Fetch a package of a source and take it in as an upload',
  example: {
    source_id: 7,
    package: 'nginx',
    version: '1.22.1-9',
    arch: 'amd64',
    distribution: 'bookworm',
    with_dependencies: true,
  },
  access: 'uploader+',
  idempotencyKey: true,
  action: 'import',
  targets: ({ body: { package: name, distribution, with_dependencies } }) => [
    { name, distribution },
    // Dependencies can have any name.
    ...(with_dependencies ? [{ distribution }] : []),
  ],
  limit: 'import',
  flags: { leaderOnly: true },
  body: Type.Object(
    {
      source_id: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      package: Type.String({ minLength: 1 }),
      version: Type.String({ minLength: 1 }),
      arch: Type.String({ minLength: 1 }),
      distribution: Type.String({ minLength: 1 }),
      with_dependencies: Type.Optional(Type.Boolean()),
    },
    { title: 'ImportPackageBody' },
  ),
  success: 201,
  also: { 200: 'These bytes were rejected before' },
  answer: Type.Intersect([
    UploadAnswer,
    Type.Object({
      method: Type.Literal('import'),
      source: Type.Object({ id: Type.Integer(), name: Type.String(), url: Type.String() }),
      results: Type.Optional(Type.Array(ImportResult, { description: 'of the dependencies' })),
    }),
  ]),
  problems: [...PIPELINE_PROBLEMS, 'not_found', 'index_empty', 'upstream_error', 'forbidden_target'],
})
