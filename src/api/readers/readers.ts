// /readers: who may read private distributions.
import type { Readers } from '../../accounts/readers/readers.ts'
import { handle, type Route } from '../http/route.ts'
import { deleteReadersId, getReaders, getReadersId, postReaders } from './readers.contract.ts'

export function readerRoutes({ readers }: { readers: Readers }): Route[] {
  return [
    handle(getReaders, async ({ query }) => {
      const all = await readers.list(query.place)
      return { readers: all, total: all.length }
    }),
    handle(getReadersId, ({ params }) => readers.find(params.id)),
    handle(postReaders, ({ body, caller, origin }) => readers.add(body, caller, origin)),
    handle(deleteReadersId, async ({ params: { id }, caller, origin }) => {
      await readers.remove(id, caller, origin)
      return { status: 'deleted', id }
    }),
  ]
}
