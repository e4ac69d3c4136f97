// Declarations of who has to look at a held package.
import Type from 'typebox'
import { Nullable } from '../http/schemas.ts'
import { declare } from '../http/route.ts'
import { NARROWED_BODY, NameVersion, Narrowed, targetsOf } from './schemas.ts'

export const patchSecurityPackagesNameVersionAssign = declare({
  method: 'PATCH',
  path: '/security/packages/{name}/{version}/assign',
  tag: 'security',
  summary: 'Assign a held version to a person who may decide; null to unassign it',
  example: { assigned_to: 'ada', distribution: 'bookworm' },
  access: 'maintainer+',
  action: 'review',
  targets: targetsOf,
  params: NameVersion,
  query: Narrowed,
  body: Type.Object(
    { assigned_to: Nullable(Type.String({ minLength: 1, maxLength: 64 })), ...NARROWED_BODY },
    { title: 'AssignBody' },
  ),
  answer: Type.Object(
    {
      status: Type.Literal('ok'),
      package: Type.String(),
      version: Type.String(),
      assigned_to: Nullable(Type.String()),
      records: Type.Array(Type.Object({ distribution: Type.String(), arch: Type.String() })),
    },
    { title: 'Assigned' },
  ),
  problems: ['not_found', 'not_under_review'],
})

export const getSecurityReviewers = declare({
  method: 'GET',
  path: '/security/reviewers',
  tag: 'security',
  summary: 'The people who may decide about held packages, and whom they can be assigned to',
  access: 'auditor+',
  answer: Type.Object(
    { reviewers: Type.Array(Type.Object({ username: Type.String(), full_name: Type.String() })) },
    { title: 'Reviewers' },
  ),
  problems: [],
})
