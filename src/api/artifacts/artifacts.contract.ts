// Declarations of /artifacts: packages by name, their dependencies, and deleting them.
import Type from 'typebox'
import { ARTIFACT_SORTS } from '../../store/records/artifact-query.ts'
import { AuditEntrySchema, FindingSchema, ValidationStepSchema } from '../shared/evidence-schemas.ts'
import { alias, HeadSchema, RecordSchema, RequirementSchema, SummarySchema } from '../shared/records.ts'
import { CveStatusSchema, FormatSchema, IdentitySchema, PackageStatusSchema } from '../shared/words.ts'
import { Nullable, pageOf, pageQuery } from '../http/schemas.ts'
import { RadiusSchema } from '../shared/download-schemas.ts'
import { BreakageKeys, DryRun } from '../shared/breakage-schemas.ts'
import { DecisionSchema } from '../shared/decision-schemas.ts'
import { NameVersion, Narrowed } from '../security/schemas.ts'
import { declare } from '../http/route.ts'

export const Name = Type.Object({ name: Type.String({ minLength: 1 }) })

/** Which records of a name are meant. */
const Selected = Type.Object({ format: Type.Optional(FormatSchema), ...Narrowed.properties })

export const getArtifacts = declare({
  method: 'GET',
  path: '/artifacts',
  tag: 'artifacts',
  summary: 'One item for each name and format: its latest record, versions and distributions',
  access: 'reader+',
  query: Type.Object({
    ...pageQuery(),
    search: Type.Optional(
      Type.String({
        maxLength: 200,
        description:
          'substring of name or description; or the name, path or SHA-256 of a file, of which 8 digits suffice',
      }),
    ),
    distribution: Type.Optional(Type.String()),
    status: Type.Optional(PackageStatusSchema),
    format: Type.Optional(FormatSchema),
    arch: Type.Optional(Type.String()),
    sort: Type.Enum([...ARTIFACT_SORTS], { default: 'name' }),
  }),
  answer: pageOf(
    Type.Intersect([
      HeadSchema,
      Type.Object({
        architecture: alias('arch'),
        type: alias('format'),
        manifest_status: alias('status'),
        latest_version: Type.String(),
        versions: Type.Array(Type.String(), { description: 'the 100 that came in last' }),
        versions_total: Type.Integer(),
        distributions: Type.Array(Type.String()),
        format: FormatSchema,
        sha256: Type.String(),
        size_bytes: Type.Integer(),
        deps_missing: Type.Array(Type.String()),
        description: Nullable(Type.String()),
        section: Nullable(Type.String()),
        cve_summary: SummarySchema,
      }),
    ]),
  ),
  problems: ['validation_error'],
})

export const getArtifactsName = declare({
  method: 'GET',
  path: '/artifacts/{name}',
  tag: 'artifacts',
  summary: 'All records of a name, in all formats and distributions or the selected ones; the checks of the latest',
  access: 'reader+',
  params: Name,
  query: Type.Object({ version: Type.Optional(Type.String()), ...Selected.properties }),
  answer: Type.Object(
    {
      name: Type.String(),
      info: Type.Object({
        latest: Type.String(),
        description: Nullable(Type.String()),
        section: Nullable(Type.String()),
        versions: Type.Record(Type.String(), HeadSchema),
      }),
      versions: Type.Array(RecordSchema),
      versions_total: Type.Integer(),
      formats: Type.Array(Type.String()),
      distributions: Type.Array(Type.String()),
      history: Type.Array(AuditEntrySchema),
      validation_steps: Type.Array(ValidationStepSchema),
      cve_results: Nullable(Type.Array(FindingSchema)),
      manifest_status: PackageStatusSchema,
      cve_status: Nullable(CveStatusSchema),
      decision: Nullable(DecisionSchema),
      dependencies: Type.Array(RequirementSchema),
      blast_radius: Nullable(RadiusSchema),
    },
    { title: 'Artifact' },
  ),
  problems: ['not_found'],
})

export const getArtifactsNameDependencies = declare({
  method: 'GET',
  path: '/artifacts/{name}/dependencies',
  tag: 'artifacts',
  summary: 'Whether the dependencies of a package can be installed from its distribution',
  access: 'reader+',
  params: Name,
  query: Type.Object({ version: Type.Optional(Type.String()), ...Selected.properties }),
  answer: Type.Object(
    {
      package: Type.String(),
      version: Type.String(),
      distribution: Type.String(),
      dependencies: Type.Array(
        Type.Object({
          name: Type.String(),
          version_constraint: Type.String(),
          available_internally: Type.Boolean(),
          met_by: Nullable(IdentitySchema),
          available_upstream: Nullable(Type.Boolean()),
          depth: Type.Integer(),
        }),
      ),
      dependencies_total: Type.Integer(),
      missing_total: Type.Integer(),
      all_satisfied: Type.Boolean(),
      missing: Type.Array(Type.String()),
      install_blocked: Type.Boolean(),
    },
    { title: 'DependencyCheck' },
  ),
  problems: ['not_found'],
})

export const deleteArtifactsName = declare({
  method: 'DELETE',
  path: '/artifacts/{name}',
  tag: 'artifacts',
  summary: 'Delete every version, in all formats, distributions and architectures or the selected ones',
  access: 'maintainer+',
  action: 'delete',
  targets: ({ params, query }) => [{ name: params.name, distribution: query.distribution }],
  params: Name,
  query: Type.Object({ ...Selected.properties, dry_run: DryRun }),
  answer: Type.Object(
    {
      status: Type.Enum(['deleted', 'dry_run']),
      package: Type.String(),
      versions: Type.Array(Type.String()),
      deleted: Type.Integer(),
      ...BreakageKeys,
    },
    { title: 'DeletedVersions' },
  ),
  problems: ['not_found', 'publication_failed', 'storage_unavailable', 'already_running'],
})

export const deleteArtifactsNameVersion = declare({
  method: 'DELETE',
  path: '/artifacts/{name}/{version}',
  tag: 'artifacts',
  summary: 'Delete one version, in all formats, distributions and architectures or the selected ones',
  access: 'maintainer+',
  action: 'delete',
  targets: ({ params, query }) => [{ name: params.name, distribution: query.distribution }],
  params: NameVersion,
  query: Type.Object({ ...Selected.properties, dry_run: DryRun }),
  answer: Type.Object(
    {
      status: Type.Enum(['deleted', 'dry_run']),
      package: Type.String(),
      version: Type.String(),
      distributions: Type.Array(Type.String()),
      ...BreakageKeys,
    },
    { title: 'DeletedVersion' },
  ),
  problems: ['not_found', 'publication_failed', 'storage_unavailable', 'already_running'],
})

export const postArtifactsAdminSyncIndex = declare({
  method: 'POST',
  path: '/artifacts/admin/sync-index',
  tag: 'artifacts',
  summary: 'Rebuild the package tables from the manifests',
  access: 'maintainer+',
  flags: { needsLeader: true },
  answer: Type.Object(
    {
      status: Type.Literal('ok'),
      packages_indexed: Type.Integer(),
      orphans: Type.Integer(),
      missing_files: Type.Integer(),
      task_id: Type.Integer(),
    },
    { title: 'IndexSync' },
  ),
  problems: ['task_cancelled', 'publication_failed', 'storage_unavailable'],
})
