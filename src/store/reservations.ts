// The rows of reserved package names.
import type { Claims, Reservation } from '../domain/reservations.ts'
import type { Db } from './db.ts'

/** All are read for each arrival, so a larger number is refused. */
export const MOST_RESERVATIONS = 1000

/** The reservations that can concern packages of a format. */
export async function reservationsOf(db: Db, format: Claims['format']): Promise<Reservation[]> {
  return db
    .selectFrom('reservations')
    .select(['id', 'pattern', 'format', 'source_id'])
    .where((eb) => eb.or([eb('format', 'is', null), eb('format', '=', format)]))
    .orderBy('id')
    .limit(MOST_RESERVATIONS)
    .execute()
}
