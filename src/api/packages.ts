// /packages: the files clients can download, by name.
import Type from 'typebox'
import type { Db } from '../store/db.ts'
import { servedFilenames } from '../store/records/served-query.ts'
import { sendList } from './list-stream.ts'
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
      handle: async ({ reply }) => sendList(reply, {}, 'packages', servedFilenames(db)),
    }),
  ]
}
