// Declarations of /distributions: the distributions, and publishing their indexes again.
import Type from 'typebox'
import { listOf } from './schemas.ts'
import { declare } from './route.ts'

export const getDistributions = declare({
  method: 'GET',
  path: '/distributions',
  tag: 'distributions',
  summary: 'Every distribution, active or not, with its package count',
  access: 'reader+',
  answer: listOf(
    'distributions',
    Type.Object({
      codename: Type.String(),
      format: Type.String(),
      arch: Type.String(),
      architectures: Type.Array(Type.String()),
      active: Type.Boolean(),
      package_count: Type.Integer(),
    }),
  ),
  problems: [],
})

export const getDistributionsCodenamePackages = declare({
  method: 'GET',
  path: '/distributions/{codename}/packages',
  tag: 'distributions',
  summary: 'The published packages of a distribution',
  access: 'reader+',
  params: Type.Object({ codename: Type.String() }),
  answer: Type.Object({
    codename: Type.String(),
    packages: Type.Array(Type.Object({ name: Type.String(), version: Type.String(), arch: Type.String() })),
    total: Type.Integer(),
  }),
  problems: ['not_found'],
})

export const postDistributionsInit = declare({
  method: 'POST',
  path: '/distributions/init',
  tag: 'distributions',
  summary: 'Publish the index of every active distribution again',
  access: 'admin',
  limit: 'distributions',
  flags: { leaderOnly: true },
  answer: Type.Object({
    status: Type.Enum(['ok', 'partial']),
    repo_format: Type.String(),
    results: Type.Array(
      Type.Object({ codename: Type.String(), format: Type.String(), ok: Type.Boolean(), message: Type.String() }),
    ),
  }),
  problems: ['signing_key_missing', 'passive_replica'],
})
