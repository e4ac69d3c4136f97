// Declarations of /readers: who may read private distributions. They concern package clients; the API follows roles.
import Type from 'typebox'
import { READER_KINDS, READER_NAME_MAX } from '../../accounts/readers/readers.ts'
import { LINE_PATTERN } from '../../accounts/user.ts'
import { declare } from '../http/route.ts'
import { listOf, TimeSchema } from '../http/schemas.ts'

const tag = 'readers'

/** Longer than any key of a distribution. */
const Place = Type.String({
  ...{ minLength: 1, maxLength: 200, pattern: '^[!-~]+$' },
  description: 'codename of the distribution',
  examples: ['bookworm'],
})
const Kind = Type.Enum([...READER_KINDS])

const ReaderSchema = Type.Object(
  {
    id: Type.Integer(),
    place: Type.String(),
    kind: Kind,
    name: Type.String(),
    created_at: TimeSchema,
    created_by: Type.String(),
  },
  { title: 'Reader' },
)
const Id = Type.Object({ id: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }) })

export const getReaders = declare({
  method: 'GET',
  path: '/readers',
  tag,
  summary: 'Who may read private distributions with a package client; at most 10,000',
  access: 'auditor+',
  query: Type.Object({ place: Type.Optional(Place) }),
  answer: listOf('readers', ReaderSchema),
  problems: [],
})

export const getReadersId = declare({
  method: 'GET',
  path: '/readers/{id}',
  tag,
  summary: 'A right to read',
  access: 'auditor+',
  params: Id,
  answer: ReaderSchema,
  problems: ['not_found'],
})

export const postReaders = declare({
  method: 'POST',
  path: '/readers',
  tag,
  summary: 'Let a person, a group, a machine or all machines with a tag read a private distribution',
  example: { place: 'bookworm', kind: 'tag', name: 'web' },
  access: 'admin',
  idempotencyKey: true,
  body: Type.Object(
    {
      place: Place,
      kind: Kind,
      name: Type.String({
        ...{ minLength: 1, maxLength: READER_NAME_MAX, pattern: LINE_PATTERN },
        description: 'user name, name or DN of a group of LDAP or OIDC, name of a machine, or tag',
      }),
    },
    { title: 'NewReader' },
  ),
  success: 201,
  answer: ReaderSchema,
  problems: ['not_found', 'already_exists'],
})

export const deleteReadersId = declare({
  method: 'DELETE',
  path: '/readers/{id}',
  tag,
  summary: 'Take a right to read away',
  access: 'admin',
  params: Id,
  answer: Type.Object({ status: Type.Literal('deleted'), id: Type.Integer() }),
  problems: ['not_found'],
})
