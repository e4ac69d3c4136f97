// Declarations of /distributions/{codename}/installability: which packages cannot be installed, and what a change would break.
import Type from 'typebox'
import { HELD_STATUSES } from '../../domain/installability.ts'
import { declare } from '../http/route.ts'
import { IdentitySchema } from '../shared/words.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'

const params = Type.Object({ codename: Type.String() })

const Identity = { name: Type.String(), version: Type.String(), arch: Type.String() }

const Step = Type.Object(
  {
    kind: Type.Enum(['needs', 'excludes', 'same_name']),
    package: Nullable(IdentitySchema),
    relation: Type.String(),
    candidates: Type.Array(IdentitySchema, { maxItems: 10 }),
    candidates_total: Type.Integer(),
    others: Type.Array(IdentitySchema, { maxItems: 5 }),
    held: Type.Optional(
      Type.Array(Type.Object({ ...Identity, status: Type.Enum([...HELD_STATUSES]) }), {
        ...{ maxItems: 5, description: 'records here that would satisfy it and are not offered' },
      }),
    ),
    excluded: Nullable(IdentitySchema),
    sentence: Type.String(),
  },
  { title: 'InstallationStep' },
)

const Causes = { causes: Type.Array(Step, { maxItems: 20 }), causes_total: Type.Integer() }
const Uninstallable = Type.Object({ ...Identity, ...Causes }, { title: 'Uninstallable' })

export const getDistributionsCodenameInstallability = declare({
  method: 'GET',
  path: '/distributions/{codename}/installability',
  tag: 'distributions',
  summary: 'Which packages of a distribution cannot be installed, and why: the result of the last check',
  access: 'reader+',
  params,
  answer: Type.Object(
    {
      codename: Type.String(),
      checked_at: Nullable(TimeSchema),
      revision: Nullable(Type.Integer()),
      current: Type.Boolean({ description: 'false when packages were published or removed since the check' }),
      total: Type.Integer(),
      uninstallable: Type.Array(
        Type.Object({
          ...Identity,
          architecture: Type.String({ description: 'of the clients that cannot install it' }),
          ...Causes,
          installable_with_upstream: Nullable(Type.Boolean()),
          upstream_causes: Nullable(Type.Array(Step)),
        }),
        { maxItems: 200 },
      ),
      uninstallable_total: Type.Integer(),
      undecided: Type.Array(Type.Object({ ...Identity, architecture: Type.String() }), { maxItems: 200 }),
      undecided_total: Type.Integer(),
      upstream: Nullable(
        Type.Object({
          sources: Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), last_sync: TimeSchema })),
          packages: Type.Integer(),
          uninstallable_total: Type.Integer(),
        }),
      ),
    },
    { title: 'Installability' },
  ),
  problems: ['not_found'],
})

export const postDistributionsCodenameInstallability = declare({
  method: 'POST',
  path: '/distributions/{codename}/installability',
  tag: 'distributions',
  summary: 'Start a check of a distribution',
  access: 'maintainer+',
  targets: ({ params }) => [{ distribution: params.codename }],
  limit: 'distributions',
  flags: { needsLeader: true },
  params,
  answer: Type.Object({ status: Type.Literal('queued'), codename: Type.String(), task_id: Type.Integer() }),
  problems: ['not_found'],
})

const Selectors = Type.Array(
  Type.Object({
    name: Type.String({ minLength: 1, maxLength: 300 }),
    version: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
    arch: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  }),
  { maxItems: 1000 },
)

export const postDistributionsCodenameInstallabilityPlan = declare({
  method: 'POST',
  path: '/distributions/{codename}/installability/plan',
  tag: 'distributions',
  summary: 'What a planned change would break; changes nothing',
  example: { add: [{ name: 'acme-tool', version: '1.4.2-1' }] },
  access: 'maintainer+',
  action: 'read',
  limit: 'reads',
  params,
  body: Type.Object(
    {
      add: Type.Optional(Selectors),
      remove: Type.Optional(Selectors),
      promote_from: Type.Optional(
        Type.String({ minLength: 1, description: 'codename that the added packages are published in' }),
      ),
      source_id: Type.Optional(Type.Integer({ description: 'source whose catalog has the added packages' })),
      with_upstream: Type.Optional(
        Type.Boolean({ default: true, description: 'whether packages of the synced sources of the suite count' }),
      ),
    },
    { title: 'PlannedChange' },
  ),
  answer: Type.Object(
    {
      codename: Type.String(),
      revision: Type.Integer(),
      with_upstream: Type.Boolean(),
      added: Type.Integer(),
      removed: Type.Integer(),
      would_break: Type.Array(Uninstallable, { maxItems: 200 }),
      would_break_total: Type.Integer(),
      would_fix: Type.Array(IdentitySchema, { maxItems: 200 }),
      would_fix_total: Type.Integer(),
      added_uninstallable: Type.Array(Uninstallable, { maxItems: 200 }),
      added_uninstallable_total: Type.Integer(),
      undecided_total: Type.Integer(),
    },
    { title: 'InstallabilityPlan' },
  ),
  problems: ['validation_error', 'not_found'],
})
