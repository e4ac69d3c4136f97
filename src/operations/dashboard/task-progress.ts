// Notices which tasks of any replica changed since the last check, for the dashboard's stream.
import { isEnded } from '../../domain/tasks.ts'
import type { Db } from '../../store/db.ts'
import type { TaskRow } from '../../store/tables.ts'
import { lastLines } from '../../tasks/task-query.ts'
import type { LiveEvent } from './live-events.ts'

/** Tasks checked each time; the oldest are first, so that none is forgotten. */
const MOST_TASKS = 200

export interface TaskProgress {
  /** Takes the present state as known. */
  begin(): Promise<void>
  /** Events of the tasks that changed since the last call, in the order of their ids. */
  changes(): Promise<LiveEvent[]>
}

/** @param deps.syncKind the kind of tasks that read a source's catalog; their key is its id */
export function createTaskProgress({ db, syncKind }: { db: Db; syncKind: string }): TaskProgress {
  /** signature of each open task when it was last seen */
  let known = new Map<number, string>()
  let newest = 0

  async function look(): Promise<TaskRow[]> {
    const rows = await db
      .selectFrom('tasks')
      .selectAll()
      .where((eb) =>
        eb.or([
          eb('state', 'in', ['queued', 'running', 'cancelling']),
          eb('id', '>', newest),
          ...(known.size > 0 ? [eb('id', 'in', [...known.keys()])] : []),
        ]),
      )
      .orderBy('id')
      .limit(MOST_TASKS)
      .execute()
    const changed = rows.filter((row) => known.get(row.id) !== signature(row))
    known = new Map(rows.filter(({ state }) => !isEnded(state)).map((row) => [row.id, signature(row)]))
    newest = Math.max(newest, rows.at(-1)?.id ?? 0)
    return changed
  }

  async function eventsOf(task: TaskRow): Promise<LiveEvent[]> {
    const { total = 0, done_count: done = 0 } = task.result ?? task.cursor ?? {}
    const status = isEnded(task.state)
      ? ({ done: 'done', failed: 'error' }[task.state as string] ?? 'cancelled')
      : 'running'
    const job: LiveEvent = {
      ...{ event: 'job', id: null, access: 'auditor+' },
      data: {
        job_id: task.id,
        kind: task.kind,
        key: task.key,
        status,
        done: Number(done) || 0,
        total: Number(total) || 0,
      },
    }
    if (task.kind !== syncKind) return [job]
    const [line] = await lastLines(db, task.id, 1)
    const said = (line?.data ?? {}) as { status?: string; count?: number }
    const sync: LiveEvent = {
      ...{ event: 'sync', id: null, access: 'uploader+' },
      data: {
        source_id: Number(task.key),
        status: status === 'running' ? (said.status ?? task.state) : status,
        count: said.count ?? 0,
      },
    }
    return [job, sync]
  }

  return {
    async begin() {
      const last = await db.selectFrom('tasks').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst()
      newest = last?.id ?? 0
      known = new Map()
      await look()
    },
    async changes() {
      const events: LiveEvent[] = []
      for (const task of await look()) events.push(...(await eventsOf(task)))
      return events
    },
  }
}

const signature = ({ state, line_count, cursor }: TaskRow) =>
  JSON.stringify([state, line_count, (cursor as { done_count?: unknown } | null)?.done_count ?? null])
