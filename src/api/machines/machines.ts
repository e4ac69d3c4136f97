// /machines: machines that sign in to read packages, and the tokens that enrol them.
import type { Enrolments } from '../../accounts/machines/enrolments.ts'
import type { Machines } from '../../accounts/machines/machines.ts'
import { handle, type Route } from '../http/route.ts'
import { page } from '../http/schemas.ts'
import {
  deleteMachinesEnrolmentsId,
  deleteMachinesId,
  getMachines,
  getMachinesEnrolments,
  getMachinesEnrolmentsId,
  getMachinesId,
  patchMachinesId,
  postMachines,
  postMachinesEnrol,
  postMachinesEnrolments,
  postMachinesIdToken,
} from './machines.contract.ts'

export function machineRoutes({ machines, enrolments }: { machines: Machines; enrolments: Enrolments }): Route[] {
  return [
    handle(getMachines, async ({ query }) => {
      const found = await machines.page(query, { page: query.page, perPage: query.per_page })
      return page(found.machines, found.total, query)
    }),
    handle(getMachinesId, ({ params }) => machines.find(params.id)),
    handle(postMachines, ({ body, caller, origin }) => machines.create(body, caller, origin)),
    handle(patchMachinesId, ({ params, body, caller, origin, unchanged }) =>
      machines.update(params.id, body, caller, origin, unchanged),
    ),
    handle(postMachinesIdToken, ({ params, caller, origin }) => machines.renew(params.id, caller, origin)),
    handle(deleteMachinesId, async ({ params: { id }, caller, origin }) => {
      await machines.revoke(id, caller, origin)
      return { status: 'revoked', id }
    }),
    handle(getMachinesEnrolments, async () => {
      const all = await enrolments.list()
      return { enrolments: all, total: all.length }
    }),
    handle(getMachinesEnrolmentsId, ({ params }) => enrolments.find(params.id)),
    handle(postMachinesEnrolments, ({ body, caller, origin }) => enrolments.create(body, caller, origin)),
    handle(deleteMachinesEnrolmentsId, async ({ params: { id }, caller, origin }) => {
      await enrolments.revoke(id, caller, origin)
      return { status: 'revoked', id }
    }),
    handle(postMachinesEnrol, async ({ body, origin }) => {
      const { id, name, tags, token } = await enrolments.enrol(body, origin)
      return { id, name, tags, token }
    }),
  ]
}
