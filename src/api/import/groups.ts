// /import/groups: packages that were imported under one group name.
import { groupDeletion, importGroups } from '../../imports/groups.ts'
import { isoTime } from '../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { deleteImportGroupsName, getImportGroups } from './groups.contract.ts'
import { handle, type Route } from '../http/route.ts'

export function importGroupRoutes({ db, tasks }: { db: Db; tasks: Pick<Tasks, 'run'> }): Route[] {
  return [
    handle(getImportGroups, async () => {
      const { groups, total } = await importGroups(db)
      return { groups: groups.map((group) => ({ ...group, imported_at: isoTime(group.imported_at) })), total }
    }),
    handle(deleteImportGroupsName, async ({ params: { name }, caller, origin }) => {
      const { deleted, task_id } = await tasks.run(await groupDeletion(db, name, caller, origin))
      return { status: 'deleted', name, deleted, task_id }
    }),
  ]
}
