// Declarations of /distributions: the distributions, and publishing their indexes again.
import Type from 'typebox'
import { BreakageKeys, DryRun } from '../shared/breakage-schemas.ts'
import { listOf, Nullable, TimeSchema } from '../http/schemas.ts'
import { FormatSchema, IdentitySchema } from '../shared/words.ts'
import { declare } from '../http/route.ts'

const DistributionSchema = Type.Object(
  {
    codename: Type.String(),
    name: Type.String(),
    full_name: Type.String(),
    os: Type.String(),
    version: Type.String(),
    format: FormatSchema,
    arch: Type.String({ description: 'the first of `architectures`' }),
    architectures: Type.Array(Type.String()),
    component: Nullable(Type.String()),
    scanner_distro: Nullable(Type.String()),
    package_manager: Type.String(),
    package_count: Type.Integer({ description: 'published packages' }),
    active: Type.Boolean(),
    private: Type.Boolean({ description: 'package clients must sign in, and need a right to read' }),
    signed_by: Nullable(Type.String({ description: 'fingerprint of the key' })),
    last_published_at: Nullable(TimeSchema),
  },
  { title: 'Distribution' },
)
const Codename = Type.Object({ codename: Type.String() })

export const getDistributions = declare({
  method: 'GET',
  path: '/distributions',
  tag: 'distributions',
  summary: 'Every distribution, active or not, with its package count',
  access: 'reader+',
  answer: listOf('distributions', DistributionSchema),
  problems: [],
})

export const getDistributionsCodename = declare({
  method: 'GET',
  path: '/distributions/{codename}',
  tag: 'distributions',
  summary: 'A distribution',
  access: 'reader+',
  edited: ['private'],
  params: Codename,
  answer: DistributionSchema,
  problems: ['not_found'],
})

export const patchDistributionsCodename = declare({
  method: 'PATCH',
  path: '/distributions/{codename}',
  tag: 'distributions',
  summary: 'Make a distribution private or public for package clients',
  example: { private: true },
  access: 'admin',
  edited: ['private'],
  params: Codename,
  body: Type.Object({ private: Type.Boolean() }, { title: 'DistributionChange' }),
  answer: DistributionSchema,
  problems: ['not_found'],
})

export const getDistributionsCodenamePackages = declare({
  method: 'GET',
  path: '/distributions/{codename}/packages',
  tag: 'distributions',
  summary: 'The published packages of a distribution',
  access: 'reader+',
  params: Codename,
  answer: Type.Object(
    {
      codename: Type.String(),
      packages: Type.Array(IdentitySchema),
      total: Type.Integer(),
    },
    { title: 'PublishedPackages' },
  ),
  problems: ['not_found'],
})

/** Why a package cannot be copied into a distribution. */
const COPY_PROBLEMS = ['unknown_distribution', 'distribution_inactive', 'same_distribution', 'format_mismatch'] as const

const Text = Type.String({ minLength: 1, maxLength: 300 })
/** Packages of one promotion. Each costs some queries, and all share one publish: 200 take about ten seconds. */
const MOST_PROMOTED = 200
const PromotionKeys = {
  version: Type.Optional(
    Type.String({
      ...{ minLength: 1, maxLength: 300 },
      description: 'by default the newest published one of each architecture',
    }),
  ),
  arch: Type.Optional(Text),
}

export const postDistributionsPromote = declare({
  method: 'POST',
  path: '/distributions/promote',
  tag: 'distributions',
  summary: 'Copy published packages into another distribution, with their verdicts and decisions',
  example: { package: 'acme-tool', version: '1.4.2-1', from_dist: 'jammy', to_dist: 'noble' },
  access: 'maintainer+',
  idempotencyKey: true,
  action: 'promote',
  targets: ({ body: { packages, ...one } }) =>
    [...(packages ?? []), ...(one.package === undefined ? [] : [one.package])].flatMap((wanted) => {
      const name = typeof wanted === 'string' ? wanted : wanted.package
      return [one.from_dist, one.to_dist].map((distribution) => ({ name, distribution }))
    }),
  limit: 'distributions',
  body: Type.Object(
    {
      package: Type.Optional(Type.String({ minLength: 1, maxLength: 300, description: 'this or `packages`' })),
      ...PromotionKeys,
      packages: Type.Optional(
        Type.Array(Type.Union([Text, Type.Object({ package: Text, ...PromotionKeys })]), {
          ...{ minItems: 1, maxItems: MOST_PROMOTED },
          description: 'names, or objects; one that fails does not stop the others',
        }),
      ),
      from_dist: Type.String({ minLength: 1 }),
      to_dist: Type.String({ minLength: 1 }),
      dry_run: DryRun,
    },
    { title: 'PromotionBody' },
  ),
  answer: Type.Object(
    {
      status: Type.Enum(['ok', 'partial', 'dry_run']),
      message: Type.String(),
      package: Type.Optional(Type.String()),
      from: Type.String(),
      to: Type.String(),
      results: Type.Optional(
        Type.Array(
          Type.Object({
            package: Type.String(),
            version: Nullable(Type.String({ description: 'as it was asked for' })),
            arch: Nullable(Type.String()),
            status: Type.Enum(['ok', 'error']),
            code: Nullable(Type.String()),
            detail: Nullable(Type.String()),
          }),
          { description: 'for `packages`, in their order' },
        ),
      ),
      versions: Type.Array(
        Type.Object({
          package: Type.String(),
          version: Type.String(),
          arch: Type.String(),
          result: Type.Enum(['promoted', 'already_present']),
        }),
      ),
      ...BreakageKeys,
    },
    { title: 'Promotion' },
  ),
  problems: [
    'validation_error',
    ...COPY_PROBLEMS,
    'not_found',
    'not_published',
    'duplicate_conflict',
    'rejected_bytes',
    'arch_mismatch',
    'publication_failed',
    'storage_unavailable',
  ],
})

export const postDistributionsMigrate = declare({
  method: 'POST',
  path: '/distributions/migrate',
  tag: 'distributions',
  summary: 'Copy every published package of a distribution into another',
  example: { from_dist: 'jammy', to_dist: 'noble', dry_run: true },
  access: 'maintainer+',
  idempotencyKey: true,
  action: 'promote',
  targets: ({ body }) => [{ distribution: body.from_dist }, { distribution: body.to_dist }],
  limit: 'distributions',
  flags: { needsLeader: true },
  body: Type.Object(
    {
      from_dist: Type.String({ minLength: 1 }),
      to_dist: Type.String({ minLength: 1 }),
      dry_run: DryRun,
    },
    { title: 'MigrationBody' },
  ),
  answer: Type.Object(
    {
      status: Type.Enum(['ok', 'partial', 'dry_run']),
      from: Type.String(),
      to: Type.String(),
      migrated: Type.Integer(),
      skipped: Type.Integer(),
      failed: Type.Integer(),
      packages: Type.Array(Type.Object({ package: Type.String(), version: Type.String(), arch: Type.String() })),
      errors: Type.Array(
        Type.Object({ package: Type.String(), version: Type.String(), code: Type.String(), message: Type.String() }),
      ),
      manifests_updated: Type.Integer(),
      task_id: Nullable(Type.Integer({ description: 'null for a dry run' })),
    },
    { title: 'Migration' },
  ),
  problems: ['validation_error', ...COPY_PROBLEMS, 'publication_failed', 'storage_unavailable', 'task_cancelled'],
})

export const postDistributionsInit = declare({
  method: 'POST',
  path: '/distributions/init',
  tag: 'distributions',
  summary: 'Publish the index of every active distribution again',
  access: 'admin',
  limit: 'distributions',
  flags: { needsLeader: true },
  answer: Type.Object(
    {
      status: Type.Enum(['ok', 'partial']),
      repo_format: Type.String(),
      results: Type.Array(
        Type.Object({ codename: Type.String(), format: Type.String(), ok: Type.Boolean(), message: Type.String() }),
      ),
    },
    { title: 'Initialization' },
  ),
  problems: ['signing_key_missing', 'task_cancelled'],
})
