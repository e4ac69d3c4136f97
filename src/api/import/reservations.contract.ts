// Declarations of /import/reservations: package names that only uploads or one import source may bring.
import Type from 'typebox'
import { ECOSYSTEMS } from '../../formats/index.ts'
import { declare } from '../http/route.ts'
import { listOf, Nullable, TimeSchema } from '../http/schemas.ts'

const ReservationSchema = Type.Object(
  {
    id: Type.Integer(),
    pattern: Type.String(),
    format: Nullable(Type.String()),
    source_id: Nullable(Type.Integer()),
    reserved_for: Type.Enum(['uploads', 'source']),
    created_at: TimeSchema,
    created_by: Type.String(),
  },
  { title: 'Reservation' },
)

const Id = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'number of the reservation' }),
})

export const getImportReservations = declare({
  method: 'GET',
  path: '/import/reservations',
  tag: 'import',
  summary: 'Package names that only uploads, or one import source, may bring; at most 1,000',
  access: 'uploader+',
  answer: listOf('reservations', ReservationSchema),
  problems: [],
})

export const getImportReservationsId = declare({
  method: 'GET',
  path: '/import/reservations/{id}',
  tag: 'import',
  summary: 'A reservation',
  access: 'uploader+',
  params: Id,
  answer: ReservationSchema,
  problems: ['not_found'],
})

export const postImportReservations = declare({
  method: 'POST',
  path: '/import/reservations',
  tag: 'import',
  summary: 'Reserve a package name or a pattern of names for uploads or for one import source',
  example: { pattern: 'acme-*' },
  access: 'maintainer+',
  idempotencyKey: true,
  limit: 'import',
  body: Type.Object(
    {
      pattern: Type.String({
        pattern: '^[!-~]+$',
        minLength: 1,
        maxLength: 200,
        description: '`*` is any text, `?` one character',
      }),
      format: Type.Optional(Nullable(Type.Enum([...ECOSYSTEMS], { description: 'left out: all formats' }))),
      source_id: Type.Optional(
        Nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'left out: for uploads' })),
      ),
    },
    { title: 'NewReservation' },
  ),
  success: 201,
  answer: ReservationSchema,
  problems: ['validation_error', 'not_found', 'already_exists'],
})

export const deleteImportReservationsId = declare({
  method: 'DELETE',
  path: '/import/reservations/{id}',
  tag: 'import',
  summary: 'Delete a reservation',
  access: 'maintainer+',
  params: Id,
  answer: Type.Object({ status: Type.Literal('deleted'), id: Type.Integer() }),
  problems: ['not_found'],
})
