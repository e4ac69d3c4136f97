// Reads tasks and their lines, for lists, streams and waiting callers.
import { sql } from 'kysely'
import type { TaskState } from '../domain/tasks.ts'
import type { Db } from '../store/db.ts'
import type { TaskLineRow, TaskRow } from '../store/tables.ts'

/** Lines read at a time. */
const PAGE = 200

export type TaskLine = Omit<TaskLineRow, 'task_id'>

export async function taskById(db: Db, id: number): Promise<TaskRow | null> {
  return (await db.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
}

/** The most recently queued task of this kind and key. */
export async function lastTask(db: Db, kind: string, key: string): Promise<TaskRow | null> {
  const row = await db
    .selectFrom('tasks')
    .selectAll()
    .where('kind', '=', kind)
    .where('key', '=', key)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

/** The most recently queued task of each key of a kind, by key. */
export async function lastTasks(db: Db, kind: string): Promise<Map<string, TaskRow>> {
  const rows = await db
    .selectFrom('tasks')
    .selectAll()
    .distinctOn('key')
    .where('kind', '=', kind)
    .orderBy('key')
    .orderBy('id', 'desc')
    .execute()
  return new Map(rows.map((row) => [row.key, row]))
}

/** The first task of this kind and key that has not ended. */
export async function openTask(db: Db, kind: string, key: string): Promise<TaskRow | null> {
  const row = await db
    .selectFrom('tasks')
    .selectAll()
    .where('kind', '=', kind)
    .where('key', '=', key)
    .where('state', 'in', ['queued', 'running'])
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

/** The tasks of a kind that have not ended, newest first; at most two of each key. */
export async function openTasks(db: Db, kind: string): Promise<TaskRow[]> {
  return db
    .selectFrom('tasks')
    .selectAll()
    .where('kind', '=', kind)
    .where('state', 'in', ['queued', 'running', 'cancelling'])
    .orderBy('id', 'desc')
    .execute()
}

/** One page of tasks, newest first. */
export async function taskPage(
  db: Db,
  filter: { kind?: string | undefined; state?: TaskState | undefined },
  { page, perPage }: { page: number; perPage: number },
): Promise<{ items: TaskRow[]; total: number }> {
  const wanted = db
    .selectFrom('tasks')
    .$if(filter.kind !== undefined, (query) => query.where('kind', '=', filter.kind!))
    .$if(filter.state !== undefined, (query) => query.where('state', '=', filter.state!))
  const { total } = await wanted.select(sql<number>`count(*)::int`.as('total')).executeTakeFirstOrThrow()
  const items = await wanted
    .selectAll()
    .orderBy('id', 'desc')
    .limit(perPage)
    .offset((page - 1) * perPage)
    .execute()
  return { items, total }
}

/** Some lines after this one, in order. */
export async function linesAfter(db: Db, id: number, seq: number): Promise<TaskLine[]> {
  return lines(db, id).where('seq', '>', seq).orderBy('seq').limit(PAGE).execute()
}

/** The last lines, in order. */
export async function lastLines(db: Db, id: number, most: number): Promise<TaskLine[]> {
  return (await lines(db, id).orderBy('seq', 'desc').limit(most).execute()).reverse()
}

const lines = (db: Db, id: number) =>
  db.selectFrom('task_lines').select(['seq', 'at', 'level', 'message', 'data']).where('task_id', '=', id)
