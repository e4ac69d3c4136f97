// Declarations of /machines: machines that sign in to read packages, and the tokens that enrol them.
import Type from 'typebox'
import { CERTIFICATE_MAX, MACHINE_NAME_PATTERN, MOST_TAGS, TAG_PATTERN } from '../../accounts/machines/machine.ts'
import { LINE_PATTERN } from '../../accounts/user.ts'
import { declare } from '../http/route.ts'
import { listOf, Nullable, pageOf, pageQuery, TimeSchema } from '../http/schemas.ts'

const tag = 'machines'

const MachineKeys = {
  id: Type.Integer(),
  name: Type.String(),
  tags: Type.Array(Type.String()),
  rights: Type.Array(Type.Enum(['read', 'report'])),
  certificate: Nullable(Type.String({ description: 'subject or fingerprint of its client certificate' })),
  token_hint: Type.String({ description: 'the last characters of its token' }),
  enrolment_id: Nullable(Type.Integer()),
  created_at: TimeSchema,
  created_by: Type.String(),
  last_seen: Nullable(TimeSchema),
  revoked_at: Nullable(TimeSchema),
}
const MachineSchema = Type.Object(MachineKeys, { title: 'Machine' })
const MachineWithTokenSchema = Type.Object(
  { ...MachineKeys, token: Type.String({ description: 'shown in this answer only' }) },
  { title: 'MachineWithToken' },
)

const EnrolmentKeys = {
  id: Type.Integer(),
  name: Type.String(),
  tags: Type.Array(Type.String()),
  most: Type.Integer({ description: 'machines that it may enrol' }),
  used: Type.Integer(),
  token_hint: Type.String(),
  created_at: TimeSchema,
  created_by: Type.String(),
  expires_at: TimeSchema,
  revoked_at: Nullable(TimeSchema),
  active: Type.Boolean(),
}
const EnrolmentSchema = Type.Object(EnrolmentKeys, { title: 'Enrolment' })

const Id = Type.Object({ id: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }) })
const Name = Type.String({ pattern: MACHINE_NAME_PATTERN })
const Tags = Type.Optional(Type.Array(Type.String({ pattern: TAG_PATTERN }), { maxItems: MOST_TAGS }))
const Certificate = Type.Optional(
  Nullable(Type.String({ minLength: 1, maxLength: CERTIFICATE_MAX, pattern: LINE_PATTERN })),
)

export const getMachines = declare({
  method: 'GET',
  path: '/machines',
  tag,
  summary: 'Machines that sign in to read packages',
  access: 'auditor+',
  query: Type.Object({
    ...pageQuery({ max: 1000 }),
    tag: Type.Optional(Type.String({ pattern: TAG_PATTERN })),
    q: Type.Optional(Type.String({ maxLength: 128, description: 'part of the name' })),
    state: Type.Enum(['live', 'revoked', 'all'], { default: 'live' }),
  }),
  answer: pageOf(MachineSchema),
  problems: [],
})

const EDITED = ['name', 'tags', 'certificate']

export const getMachinesId = declare({
  method: 'GET',
  path: '/machines/{id}',
  tag,
  summary: 'A machine',
  access: 'auditor+',
  edited: EDITED,
  params: Id,
  answer: MachineSchema,
  problems: ['not_found'],
})

export const postMachines = declare({
  method: 'POST',
  path: '/machines',
  tag,
  summary: 'Create a machine; only this answer shows its token',
  example: { name: 'web-01', tags: ['web', 'site:berlin'] },
  access: 'admin',
  idempotencyKey: true,
  body: Type.Object({ name: Name, tags: Tags, certificate: Certificate }, { title: 'NewMachine' }),
  success: 201,
  answer: MachineWithTokenSchema,
  problems: ['already_exists', 'machines_full'],
})

export const patchMachinesId = declare({
  method: 'PATCH',
  path: '/machines/{id}',
  tag,
  summary: 'Change name, tags or certificate of a machine',
  example: { tags: ['web'] },
  access: 'admin',
  edited: EDITED,
  params: Id,
  body: Type.Object({ name: Type.Optional(Name), tags: Tags, certificate: Certificate }, { title: 'MachineChange' }),
  answer: MachineSchema,
  problems: ['not_found', 'already_exists'],
})

export const postMachinesIdToken = declare({
  method: 'POST',
  path: '/machines/{id}/token',
  tag,
  summary: 'Give a machine a new token; the old one ends',
  access: 'admin',
  idempotencyKey: true,
  params: Id,
  success: 201,
  answer: MachineWithTokenSchema,
  problems: ['not_found'],
})

export const deleteMachinesId = declare({
  method: 'DELETE',
  path: '/machines/{id}',
  tag,
  summary: 'Revoke a machine: its token ends, and its name is free',
  access: 'admin',
  params: Id,
  answer: Type.Object({ status: Type.Literal('revoked'), id: Type.Integer() }),
  problems: ['not_found'],
})

export const getMachinesEnrolments = declare({
  method: 'GET',
  path: '/machines/enrolments',
  tag,
  summary: 'Tokens that enrol machines, the newest first; at most 1,000',
  access: 'auditor+',
  answer: listOf('enrolments', EnrolmentSchema),
  problems: [],
})

export const getMachinesEnrolmentsId = declare({
  method: 'GET',
  path: '/machines/enrolments/{id}',
  tag,
  summary: 'An enrolment',
  access: 'auditor+',
  params: Id,
  answer: EnrolmentSchema,
  problems: ['not_found'],
})

export const postMachinesEnrolments = declare({
  method: 'POST',
  path: '/machines/enrolments',
  tag,
  summary: 'Create a token that only enrols machines; only this answer shows it',
  example: { name: 'web-image', tags: ['web'], most: 20, expires_hours: 24 },
  access: 'admin',
  idempotencyKey: true,
  body: Type.Object(
    {
      name: Name,
      tags: Tags,
      most: Type.Integer({ minimum: 1, maximum: 100_000, description: 'machines that it may enrol' }),
      expires_hours: Type.Integer({ minimum: 1, maximum: 87_600 }),
    },
    { title: 'NewEnrolment' },
  ),
  success: 201,
  answer: Type.Object(
    { ...EnrolmentKeys, token: Type.String({ description: 'shown in this answer only' }) },
    { title: 'EnrolmentWithToken' },
  ),
  problems: [],
})

export const deleteMachinesEnrolmentsId = declare({
  method: 'DELETE',
  path: '/machines/enrolments/{id}',
  tag,
  summary: 'Revoke an enrolment; machines that it enrolled stay',
  access: 'admin',
  params: Id,
  answer: Type.Object({ status: Type.Literal('revoked'), id: Type.Integer() }),
  problems: ['not_found'],
})

export const postMachinesEnrol = declare({
  method: 'POST',
  path: '/machines/enrol',
  tag,
  summary: 'Enrol this machine with the token of an enrolment; repositories know its token within ten seconds',
  example: { token: 'svce_…', name: 'web-01' },
  access: 'public',
  limit: 'enrol',
  body: Type.Object({ token: Type.String({ maxLength: 200 }), name: Name }, { title: 'EnrolBody' }),
  success: 201,
  answer: Type.Object(
    { id: Type.Integer(), name: Type.String(), tags: Type.Array(Type.String()), token: Type.String() },
    { title: 'EnrolledMachine' },
  ),
  problems: ['unauthorized', 'already_exists', 'machines_full'],
})
