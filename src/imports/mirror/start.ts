// Starts runs of mirrors: of one source, and of all that are enabled.
import { Problem } from '../../domain/problem.ts'
import type { Db } from '../../store/db.ts'
import { openTask } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import type { Mirrors } from './mirrors.ts'
import { MIRROR } from './run.ts'

export interface MirrorRuns {
  /**
   * @param request.limit lowers `mirror.max_packages_per_run` for this run
   * @returns the new task or, if there is one, the task of the source that has not ended
   * @throws Problem('not_found', 'unknown_distribution', 'distribution_inactive')
   */
  start(
    id: string,
    request: { by: string; limit?: number | undefined; requestId?: string | null },
  ): Promise<{
    taskId: number
    already_running: boolean
  }>
  /**
   * Runs the mirrors that are enabled, one after another, and waits for their ends.
   * @throws Problem('upstream_error') after all of them, when some failed
   */
  all(by: string): Promise<{ mirrors: number; added: number }>
}

export function createMirrorRuns(deps: {
  db: Db
  mirrors: Pick<Mirrors, 'all' | 'find'>
  tasks: Pick<Tasks, 'enqueue' | 'ended'>
}): MirrorRuns {
  const start: MirrorRuns['start'] = async (id, { by, limit, requestId = null }) => {
    const { source } = await deps.mirrors.find(id)
    const key = String(source.id)
    const open = await openTask(deps.db, MIRROR, key)
    if (open) return { taskId: open.id, already_running: true }
    const label = `mirror of ${source.name}`
    const request = { kind: MIRROR, key, arguments: { by, label, ...(limit === undefined ? {} : { limit }) } }
    const task = await deps.tasks.enqueue({ ...request, createdBy: by, requestId })
    return { taskId: task.id, already_running: task.joined }
  }
  return {
    start,
    async all(by) {
      const enabled = (await deps.mirrors.all()).filter((one) => one.enabled)
      let added = 0
      const failed: string[] = []
      for (const { source } of enabled) {
        try {
          const { taskId } = await start(String(source.id), { by })
          added += Number((await deps.tasks.ended(taskId))['added'])
        } catch (error) {
          if (!(error instanceof Problem) || error.code === 'shutting_down') throw error
          failed.push(`${source.name}: ${error.detail}`)
        }
      }
      if (failed.length > 0) throw new Problem('upstream_error', failed.join('; ').slice(0, 500))
      return { mirrors: enabled.length, added }
    },
  }
}
