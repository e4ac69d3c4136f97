// /packages: the files clients can download, by name.
import type { Db } from '../../store/db.ts'
import { servedFilenames } from '../../store/records/served-query.ts'
import { sendList } from '../http/list-stream.ts'
import { type Route } from '../http/route.ts'
import { getPackages } from './packages.contract.ts'
import { handle } from '../http/route.ts'

export function packageRoutes({ db }: { db: Db }): Route[] {
  return [handle(getPackages, async ({ reply }) => sendList(reply, {}, 'packages', servedFilenames(db)))]
}
