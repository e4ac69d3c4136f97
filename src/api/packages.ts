// /packages: the files clients can download, by name.
import Type from 'typebox'
import type { Db } from '../store/db.ts'
import { route, type Route } from './route.ts'
import { listOf } from './schemas.ts'

export function packageRoutes({ db }: { db: Db }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/packages',
      tag: 'packages',
      summary: 'File names of every package that is served, sorted',
      access: 'reader+',
      answer: listOf('packages', Type.String()),
      problems: [],
      async handle() {
        const rows = await db
          .selectFrom('packages')
          .select('filename')
          .distinct()
          .where('served', '=', true)
          .orderBy('filename')
          .execute()
        return { packages: rows.map((row) => row.filename), total: rows.length }
      },
    }),
  ]
}
