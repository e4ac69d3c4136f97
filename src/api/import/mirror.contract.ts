// Declarations of /import/mirror: the mirror of each source, the plan of a run, and the schedule.
import Type from 'typebox'
import { MirrorSelectionSchema } from '../../domain/mirror-selection.ts'
import { SECTIONS } from '../settings/settings.contract.ts'
import { MirrorJob } from './mirror-jobs.contract.ts'
import { IdentitySchema, PolicyActionSchema } from '../shared/words.ts'
import { declare } from '../http/route.ts'
import { NotCarriedSchema } from './sources.contract.ts'
import { listOf, Nullable, TimeSchema } from '../http/schemas.ts'

const Id = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 100, description: 'number or key of the source', examples: ['7'] }),
})

const mirror = {
  id: Type.Integer(),
  key: Nullable(Type.String()),
  label: Type.String(),
  format: Type.String(),
  enabled: Type.Boolean({ description: 'whether the daily run includes it' }),
  distribution: Nullable(Type.String({ description: 'codename that takes the packages; null: not mirrored' })),
  continue_after: Nullable(Type.String({ description: 'name after which the next run begins' })),
  updated_at: Nullable(TimeSchema),
  updated_by: Nullable(Type.String()),
  last_job: Nullable(MirrorJob),
}
const ListedMirror = Type.Object(
  {
    ...mirror,
    selection: Nullable(Type.Omit(MirrorSelectionSchema, ['names'])),
    names_total: Type.Integer({ description: 'names of the selection, which are left out here' }),
  },
  { title: 'ListedMirror' },
)
const MirrorSchema = Type.Object({ ...mirror, selection: MirrorSelectionSchema }, { title: 'Mirror' })

/** Missing keys get their defaults. */
const Fields = Type.Partial(
  Type.Object({
    distribution: Type.String({ minLength: 1, maxLength: 200, description: 'by default that of a built-in source' }),
    enabled: Type.Boolean({ default: true }),
    ...MirrorSelectionSchema.properties,
  }),
  { title: 'MirrorFields' },
)

export const getImportMirrorSources = declare({
  method: 'GET',
  path: '/import/mirror/sources',
  tag: 'import',
  summary: 'What is mirrored of each source',
  access: 'uploader+',
  answer: listOf('sources', ListedMirror),
  problems: [],
})

export const postImportMirrorSources = declare({
  method: 'POST',
  path: '/import/mirror/sources',
  tag: 'import',
  summary: 'Switch sources on and off for the daily run (`settings.mirror.sources`); null removes an entry',
  example: { sources: { '7': true } },
  access: 'maintainer+',
  limit: 'import',
  body: Type.Object({
    sources: Type.Record(Type.String({ maxLength: 100 }), Nullable(Type.Boolean()), { maxProperties: 200 }),
  }),
  answer: listOf('sources', ListedMirror),
  problems: ['validation_error', 'unknown_key'],
})

export const getImportMirrorSourcesId = declare({
  method: 'GET',
  path: '/import/mirror/sources/{id}',
  tag: 'import',
  summary: 'What is mirrored of a source, with all names of the selection',
  access: 'uploader+',
  edited: 'handler',
  params: Id,
  answer: MirrorSchema,
  problems: ['not_found', 'unknown_distribution', 'distribution_inactive'],
})

export const putImportMirrorSourcesId = declare({
  method: 'PUT',
  path: '/import/mirror/sources/{id}',
  tag: 'import',
  summary: 'Set what is mirrored of a source; with `If-Match` only in place of that state',
  example: { distribution: 'bookworm', enabled: true, names: ['nginx', 'libnginx-mod-*'], keep_latest: 2 },
  access: 'maintainer+',
  edited: 'handler',
  params: Id,
  body: Fields,
  answer: MirrorSchema,
  problems: ['validation_error', 'not_found', 'unknown_distribution', 'distribution_inactive', 'format_mismatch'],
})

export const deleteImportMirrorSourcesId = declare({
  method: 'DELETE',
  path: '/import/mirror/sources/{id}',
  tag: 'import',
  summary: 'Mirror nothing of a source any more; imported packages stay',
  access: 'maintainer+',
  edited: 'handler',
  params: Id,
  answer: Type.Object({ status: Type.Literal('deleted'), id: Type.Integer(), name: Type.String() }),
  problems: ['not_found'],
})

const named = { name: Type.String(), version: Type.String(), arch: Type.String() }
const WithFindings = Type.Object({ ...named, findings: Type.Integer() }, { title: 'JudgedPackage' })
const Plan = Type.Object(
  {
    source_id: Type.Integer(),
    distribution: Type.String(),
    selected: Type.Integer(),
    present: Type.Integer(),
    missing: Type.Integer(),
    conflicts: Type.Integer({
      description: 'the distribution has other bytes under this name, version and architecture',
    }),
    rejected: Type.Integer({ description: 'a person rejected these bytes' }),
    refused: Type.Integer({
      description: 'the gate refused these bytes before, under the same rules: they are not fetched',
    }),
    reserved: Type.Integer({ description: 'they claim a name that is reserved for another way of arrival' }),
    missing_bytes: Type.Integer(),
    left_out: Type.Array(Type.Object({ reason: Type.String(), detail: Type.String(), count: Type.Integer() }), {
      description: 'packages that the selection names and no run brings',
    }),
    not_carried: NotCarriedSchema,
    unmatched: Type.Object(
      { total: Type.Integer(), names: Type.Array(Type.String()) },
      { description: 'names and patterns of the selection that the source has nothing for' },
    ),
    dependencies: Nullable(
      Type.Object({
        selected: Type.Integer({ description: 'of the selected packages those that only others of them need' }),
        missing: Type.Integer({ description: 'of these, what would come' }),
        unresolved: Type.Object(
          {
            total: Type.Integer(),
            requirements: Type.Array(Type.Object({ name: Type.String(), needed_by: Type.String() })),
          },
          { description: 'what neither the source nor the distribution has, the first 200' },
        ),
        truncated: Type.Boolean({ description: 'some packages need more than 5,000 packages' }),
      }),
    ),
    packages: Type.Array(
      Type.Object({
        ...{ ...named, size_bytes: Type.Integer(), action: PolicyActionSchema, findings: Type.Integer() },
        needed_by: Nullable(Type.String({ description: 'a package that needs it; null: the selection names it' })),
      }),
      { description: 'the first 200 missing ones' },
    ),
    conflicting: Type.Array(IdentitySchema),
    reserved_packages: Type.Array(IdentitySchema, { description: 'the first 200 reserved ones' }),
    refused_packages: Type.Array(
      Type.Object({ ...named, code: Type.String(), detail: Nullable(Type.String()), refused_at: TimeSchema }),
      { description: 'the first 200 refused ones' },
    ),
    policy: Type.Object({
      actions: Type.Record(PolicyActionSchema, Type.Integer()),
      unscanned: Type.Integer(),
      blocked: Type.Array(WithFindings),
      held: Type.Array(WithFindings),
    }),
    withdrawn: Type.Object({
      total: Type.Integer(),
      removed: Type.Boolean({ description: 'whether the next run deletes them' }),
      packages: Type.Array(Type.Object({ ...named, status: Type.String() })),
    }),
    limits: Type.Object({
      packages_per_run: Type.Integer(),
      runs: Type.Integer({ description: 'runs that the missing packages take by the number of packages' }),
      free_bytes: Type.Integer(),
      needed_bytes: Type.Integer({ description: 'missing bytes and `min_free_disk_gb`' }),
      fits: Type.Boolean(),
    }),
  },
  { title: 'MirrorPlan' },
)

export const getImportMirrorSourcesIdPlan = declare({
  method: 'GET',
  path: '/import/mirror/sources/{id}/plan',
  tag: 'import',
  summary: 'What would come, how large it is and what the policy would say of it; fetches nothing',
  access: 'uploader+',
  limit: 'import',
  params: Id,
  answer: Plan,
  problems: ['not_found', 'index_empty', 'unknown_distribution', 'distribution_inactive'],
})

export const postImportMirrorSourcesIdPlan = declare({
  method: 'POST',
  path: '/import/mirror/sources/{id}/plan',
  tag: 'import',
  summary: 'The plan of a selection that is not stored',
  example: { names: ['nginx'] },
  access: 'uploader+',
  action: 'read',
  limit: 'import',
  params: Id,
  body: Fields,
  answer: Plan,
  problems: [
    'validation_error',
    'not_found',
    'index_empty',
    'unknown_distribution',
    'distribution_inactive',
    'format_mismatch',
  ],
})

const Schedule = Type.Intersect([SECTIONS.mirror, Type.Object({ next_run: Nullable(TimeSchema) })], {
  title: 'MirrorSchedule',
})

export const getImportMirrorSchedule = declare({
  method: 'GET',
  path: '/import/mirror/schedule',
  tag: 'import',
  summary: 'The settings of the daily run (`settings.mirror`), and when it runs next',
  access: 'uploader+',
  answer: Schedule,
  problems: [],
})

export const postImportMirrorSchedule = declare({
  method: 'POST',
  path: '/import/mirror/schedule',
  tag: 'import',
  summary: 'Change the settings of the daily run',
  example: { enabled: true },
  access: 'maintainer+',
  limit: 'import',
  body: Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), { maxProperties: 20 }),
  answer: Schedule,
  problems: ['validation_error', 'unknown_key'],
})
