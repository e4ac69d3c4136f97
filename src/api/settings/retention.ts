// /settings/run-retention: removes data older than the settings keep, or shows what would be removed.
import { Problem } from '../../domain/problem.ts'
import { retentionRequest } from '../../operations/retention/retention.ts'
import type { Db } from '../../store/db.ts'
import { openTask } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { postSettingsRunRetention } from './retention.contract.ts'
import { handle, type Route } from '../http/route.ts'

export function retentionRoutes({ db, tasks }: { db: Db; tasks: Pick<Tasks, 'run'> }): Route[] {
  return [
    handle(postSettingsRunRetention, async ({ body, caller, origin }) => {
      const { requestId } = origin
      const request = retentionRequest({ by: caller.name, dryRun: body.dry_run ?? false, requestId })
      const open = await openTask(db, request.kind, request.key)
      if (open) throw new Problem('already_running', 'retention is running', { task_id: open.id })
      return { status: 'ok', ...(await tasks.run(request)) }
    }),
  ]
}
