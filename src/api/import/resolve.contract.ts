// Declaration of /import/resolve: what a package of a source needs.
import Type from 'typebox'
import { ACTIONS } from '../../domain/finding.ts'
import { PackageStatusSchema, PolicyActionSchema } from '../shared/words.ts'
import { Nullable } from '../http/schemas.ts'
import { declare } from '../http/route.ts'

const Judged = Type.Object(
  {
    ...{ name: Type.String(), version: Type.String(), arch: Type.String(), findings: Type.Integer() },
  },
  { title: 'JudgedPackage' },
)

export const getImportResolvePackage = declare({
  method: 'GET',
  path: '/import/resolve/{package}',
  tag: 'import',
  summary: 'What a package of the sources needs, and what of it a distribution does not have',
  access: 'uploader+',
  params: Type.Object({ package: Type.String({ minLength: 1, maxLength: 300 }) }),
  query: Type.Object({
    distribution: Type.String({ minLength: 1, maxLength: 200 }),
    source_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
    version: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
    arch: Type.Optional(Type.String({ minLength: 1, maxLength: 50 })),
  }),
  answer: Type.Object(
    {
      success: Type.Boolean({ description: 'every requirement can be met' }),
      package: Type.String(),
      version: Type.String(),
      arch: Type.String(),
      source_id: Type.Integer(),
      distribution: Type.String(),
      total_deps: Type.Integer(),
      already_in_repo: Type.Integer(),
      to_download: Type.Integer(),
      download_bytes: Type.Integer(),
      packages: Type.Array(
        Type.Object({
          name: Type.String(),
          version: Nullable(Type.String()),
          arch: Nullable(Type.String()),
          source_id: Nullable(Type.Integer()),
          size_bytes: Nullable(Type.Integer()),
          already_in_repo: Type.Boolean(),
          virtual: Type.Optional(Type.Boolean({ description: 'the name is provided by a package of another name' })),
          needed_by: Type.String(),
          action: Nullable(PolicyActionSchema),
          findings: Nullable(Type.Integer()),
          record_status: Nullable(PackageStatusSchema),
        }),
        { description: 'at most 1,000' },
      ),
      missing: Type.Array(Type.Object({ name: Type.String(), needed_by: Type.String() }), {
        description: 'at most 200',
      }),
      truncated: Type.Boolean({ description: 'more packages are needed than are followed' }),
      policy: Type.Object(
        {
          actions: Type.Object(Object.fromEntries(ACTIONS.map((action) => [action, Type.Integer()]))),
          unscanned: Type.Integer(),
          blocked: Type.Array(Judged, { maxItems: 200 }),
          held: Type.Array(Judged, { maxItems: 200 }),
        },
        { description: 'of the package itself and what would come with it, as in the plan of a mirror' },
      ),
    },
    { title: 'Resolution' },
  ),
  problems: ['validation_error', 'unknown_distribution', 'distribution_inactive', 'not_found', 'index_empty'],
})
