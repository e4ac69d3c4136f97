// Long work, scheduled jobs and the processes that do them.
import type { Generated, Selectable } from 'kysely'
import type { Json as JsonObject } from '../../domain/json.ts'
import type { TaskState } from '../../domain/tasks.ts'
import type { Json, JsonOrNull } from './columns.ts'

/** A right that one process holds for some seconds. */
export interface LeasesTable {
  name: string
  holder: string
  expires_at: Date
}

/** A running process of the service. Files of processes without a row are removed. */
export interface InstancesTable {
  id: string
  host: string
  pid: number
  heartbeat_at: Date
}

/** One due time of one scheduled job: the process that inserts the row runs it. */
export interface JobTicksTable {
  job: string
  due_at: Date
  started_at: Date
  finished_at: Date | null
  error: string | null
}

/** Long work that a process runs, resumes or has ended (`domain/tasks`). */
export interface TasksTable {
  id: Generated<number>
  kind: string
  /** its subject, e.g. a codename; empty when the kind needs none */
  key: string
  arguments: Json<JsonObject>
  state: TaskState
  /** where the work continues after a crash */
  cursor: JsonOrNull<JsonObject>
  /** who runs it: the id of a process and a token of this run, separated by a slash */
  holder: string | null
  heartbeat_at: Date | null
  /** number of claims that a shutdown did not give back */
  attempts: Generated<number>
  /** lines written so far; only the last ones are kept */
  line_count: Generated<number>
  created_at: Date
  created_by: string
  request_id: string | null
  /** time of the first claim */
  started_at: Date | null
  finished_at: Date | null
  result: JsonOrNull<JsonObject>
  error_code: string | null
  error: string | null
  /** further keys of the error body */
  error_extra: JsonOrNull<JsonObject>
}

/** Log lines of tasks. */
export interface TaskLinesTable {
  task_id: number
  /** from 1 */
  seq: number
  at: Date
  level: 'info' | 'warn'
  message: string
  data: JsonOrNull<JsonObject>
}

export type TaskRow = Selectable<TasksTable>

export type TaskLineRow = Selectable<TaskLinesTable>
