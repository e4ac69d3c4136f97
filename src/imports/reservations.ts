// Reserves package names for uploads or for one import source. A change affects only packages that arrive later.
import type { Origin } from '../domain/audit.ts'
import type { Caller } from '../domain/caller.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import type { AuditLog } from '../audit/log.ts'
import type { Db } from '../store/db.ts'
import { MOST_RESERVATIONS } from '../store/reservations.ts'
import type { ReservationRow } from '../store/tables.ts'

export interface ReservationFields {
  pattern: string
  format?: string | null | undefined
  /** null or left out: for uploads */
  source_id?: number | null | undefined
}

export interface Reservations {
  all(): Promise<ReservationRow[]>
  /** @throws Problem('not_found') */
  find(id: number): Promise<ReservationRow>
  /** @throws Problem('not_found') for an unknown source, 'already_exists', 'validation_error' when there are too many */
  create(fields: ReservationFields, by: Caller, origin: Origin): Promise<ReservationRow>
  /** @throws Problem('not_found') */
  remove(id: number, by: Caller, origin: Origin): Promise<ReservationRow>
}

export interface ReservationDeps {
  db: Db
  clock: Clock
  audit: Pick<AuditLog, 'record'>
}

export function createReservations({ db, clock, audit }: ReservationDeps): Reservations {
  const recorded = (action: string, row: ReservationRow, by: Caller, origin: Origin) =>
    audit.record({
      action,
      result: 'SUCCESS',
      user: by.name,
      detail: `${row.pattern} for ${row.source_id === null ? 'uploads' : `the import source ${row.source_id}`}`,
      ip: origin.ip,
      requestId: origin.requestId,
      extra: { reservation_id: row.id, source_id: row.source_id, format: row.format },
    })

  return {
    all: () => db.selectFrom('reservations').selectAll().orderBy('id').limit(MOST_RESERVATIONS).execute(),
    async find(id) {
      const row = await db.selectFrom('reservations').selectAll().where('id', '=', id).executeTakeFirst()
      if (!row) throw unknownReservation(id)
      return row
    },
    async create({ pattern, format = null, source_id = null }, by, origin) {
      if (source_id !== null) {
        const source = await db.selectFrom('sources').select('id').where('id', '=', source_id).executeTakeFirst()
        if (!source) throw new Problem('not_found', `there is no import source ${source_id}`)
      }
      const { n } = await db
        .selectFrom('reservations')
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow()
      if (n >= MOST_RESERVATIONS) throw invalidField('pattern', `there are ${MOST_RESERVATIONS} reservations`)
      const row = await db
        .insertInto('reservations')
        .values({ pattern, format, source_id, created_at: clock.now(), created_by: by.name })
        .onConflict((conflict) => conflict.doNothing())
        .returningAll()
        .executeTakeFirst()
      if (!row) throw new Problem('already_exists', `${pattern} is reserved for this already`)
      await recorded('RESERVATION_CREATE', row, by, origin)
      return row
    },
    async remove(id, by, origin) {
      const row = await db.deleteFrom('reservations').where('id', '=', id).returningAll().executeTakeFirst()
      if (!row) throw unknownReservation(id)
      await recorded('RESERVATION_DELETE', row, by, origin)
      return row
    },
  }
}

const unknownReservation = (id: number) => new Problem('not_found', `there is no reservation ${id}`)

/** A reservation as clients see it. */
export function reservationView({ created_at, ...row }: ReservationRow) {
  return { ...row, reserved_for: row.source_id === null ? 'uploads' : 'source', created_at: isoTime(created_at) }
}
