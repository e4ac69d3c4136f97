// /import/reservations: package names that only uploads or one import source may bring.
import { reservationView, type Reservations } from '../../imports/reservations.ts'
import {
  deleteImportReservationsId,
  getImportReservations,
  getImportReservationsId,
  postImportReservations,
} from './reservations.contract.ts'
import { handle, type Route } from '../http/route.ts'

export function reservationRoutes({ reservations }: { reservations: Reservations }): Route[] {
  return [
    handle(getImportReservations, async () => {
      const all = await reservations.all()
      return { reservations: all.map(reservationView), total: all.length }
    }),
    handle(getImportReservationsId, async ({ params }) => reservationView(await reservations.find(params.id))),
    handle(postImportReservations, async ({ body, caller, origin }) =>
      reservationView(await reservations.create(body, caller, origin)),
    ),
    handle(deleteImportReservationsId, async ({ params: { id }, caller, origin }) => {
      await reservations.remove(id, caller, origin)
      return { status: 'deleted', id }
    }),
  ]
}
