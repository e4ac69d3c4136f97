// The statements that change tasks. Every write of a running task names its holder, so a process that lost it changes nothing.
import { sql, type RawBuilder } from 'kysely'
import { parseJson, type Json } from '../domain/json.ts'
import { isEnded, isHeld, TASK_TRANSITIONS, type TaskEvent, type TaskRequest, type TaskState } from '../domain/tasks.ts'
import type { Db } from '../store/db.ts'
import type { TaskRow } from '../store/tables.ts'
import { isTaken } from '../store/unique.ts'

/** A task without a heartbeat for this long is taken over. */
export const DEAD_AFTER_MS = 60_000
/** A task fails when its process has died this often. */
export const MOST_ATTEMPTS = 3

/** Identifies a task and its holder in every write. */
export interface Hold {
  id: number
  holder: string
}

/** The input for finding tasks that have lost their process: see `orphaned`. */
export interface Survivors {
  /** holders of the tasks that this process runs */
  own: readonly string[]
  /** ids of processes that are known to be dead */
  dead: readonly string[]
  now: Date
}

/** The new state and its consequences, by the transition table. */
function moved(now: Date, ...events: TaskEvent[]) {
  const transitions = TASK_TRANSITIONS.filter(({ event }) => events.includes(event))
  const from = transitions.map((transition) => transition.from)
  const choose = <T>(of: (to: TaskState) => RawBuilder<T>) =>
    sql<T>`case state ${sql.join(
      transitions.map(({ from, to }) => sql`when ${sql.lit(from)} then ${of(to)}`),
      sql` `,
    )} end`
  return {
    from,
    set: {
      state: choose((to) => sql<TaskState>`${sql.lit(to)}`),
      finished_at: choose((to) => (isEnded(to) ? sql<Date | null>`${now}::timestamptz` : sql<null>`null`)),
      holder: choose((to) => (isHeld(to) ? sql<string | null>`holder` : sql<null>`null`)),
    },
  }
}

/** Queues a task, or joins a waiting one of the same kind and key, and adds the arguments of this request to it. */
export async function enqueue(db: Db, request: TaskRequest, now: Date): Promise<{ id: number; joined: boolean }> {
  const { rows } = await sql<{ id: number; joined: boolean }>`
    insert into tasks (kind, key, arguments, state, created_at, created_by, request_id)
    values (${request.kind}, ${request.key ?? ''}, ${storable(request.arguments ?? {})}::jsonb, 'queued', ${now}, ${request.createdBy},
      ${request.requestId ?? null})
    on conflict (kind, key) where state = 'queued' and started_at is null
      do update set arguments = tasks.arguments || excluded.arguments
    returning id, xmax <> 0 as joined`.execute(db)
  return rows[0]!
}

/** Tasks without a heartbeat, and tasks of dead processes, except those that this process runs. */
function orphaned({ own, dead, now }: Survivors): RawBuilder<boolean> {
  const limit = new Date(now.getTime() - DEAD_AFTER_MS)
  return sql<boolean>`(heartbeat_at < ${limit} or split_part(holder, '/', 1) = any(${[...dead]}::text[]))
    and holder <> all(${[...own]}::text[])`
}

/**
 * Claims the next task of these kinds: one whose process is dead, else the oldest queued one whose kind and key are not
 * running. Tasks that another process is claiming are skipped.
 */
export async function claim(
  db: Db,
  kinds: readonly string[],
  holder: string,
  survivors: Survivors,
): Promise<TaskRow | null> {
  const { now } = survivors
  const next = sql<number>`(select id from tasks t where kind = any(${[...kinds]}::text[]) and (
      (state = 'queued' and not exists (select 1 from tasks o where o.kind = t.kind and o.key = t.key and o.state in ('running', 'cancelling')))
      or (state = 'running' and attempts < ${MOST_ATTEMPTS} and ${orphaned(survivors)}))
    order by state = 'queued', id limit 1 for update skip locked)`
  try {
    const row = await db
      .updateTable('tasks')
      .set((eb) => ({
        state: moved(now, 'claim', 'take_over').set.state,
        holder,
        heartbeat_at: now,
        attempts: eb('attempts', '+', 1),
        started_at: eb.fn.coalesce('started_at', sql<Date>`${now}::timestamptz`),
      }))
      .where('id', '=', next)
      .returningAll()
      .executeTakeFirst()
    return row ?? null
  } catch (error) {
    // Another process started a task of the same kind and key at the same moment.
    if (isTaken(error)) return null
    throw error
  }
}

/** The processes that hold tasks. */
export async function holdingInstances(db: Db): Promise<string[]> {
  const { rows } = await sql<{ instance: string }>`
    select distinct split_part(holder, '/', 1) as instance from tasks where state in ('running', 'cancelling')`.execute(
    db,
  )
  return rows.map(({ instance }) => instance)
}

/** Ends tasks of dead processes that nobody should continue: cancelled tasks, and tasks that ended too many processes. */
export async function endOrphans(db: Db, survivors: Survivors): Promise<TaskRow[]> {
  const stopped = moved(survivors.now, 'stop')
  const cancelled = await db
    .updateTable('tasks')
    .set(stopped.set)
    .where('state', '=', 'cancelling')
    .where(orphaned(survivors))
    .returningAll()
    .execute()
  const failed = moved(survivors.now, 'fail')
  const given = await db
    .updateTable('tasks')
    .set({
      ...failed.set,
      error_code: 'internal_error',
      error: `the process that ran the task ended unexpectedly ${MOST_ATTEMPTS} times`,
    })
    .where('state', '=', 'running')
    .where('attempts', '>=', MOST_ATTEMPTS)
    .where(orphaned(survivors))
    .returningAll()
    .execute()
  return [...cancelled, ...given]
}

/** Renews the heartbeat of held tasks. @returns those that are still held, with their state */
export async function beat(db: Db, holds: readonly Hold[], now: Date): Promise<{ id: number; state: TaskState }[]> {
  return db
    .updateTable('tasks')
    .set({ heartbeat_at: now })
    .where('state', 'in', ['running', 'cancelling'])
    .where(
      'holder',
      'in',
      holds.map(({ holder }) => holder),
    )
    .returning(['id', 'state'])
    .execute()
}

/** @returns false when the task is no longer held */
export async function saveCursor(db: Db, hold: Hold, cursor: Json, now: Date): Promise<boolean> {
  const row = await held(db, hold)
    .set({ cursor: storable(cursor), heartbeat_at: now })
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** The end of a run. */
export type Outcome =
  { event: 'succeed'; result: Json } | { event: 'fail'; code: string; detail: string; extra?: Json } | { event: 'stop' }

/** Ends a run. A stopped run is queued again, and its attempt is not counted. @returns null when the task is no longer held */
export async function endRun(db: Db, hold: Hold, outcome: Outcome, now: Date): Promise<TaskRow | null> {
  const { from, set } = moved(now, outcome.event)
  const row = await held(db, hold)
    .set((eb) => ({
      ...set,
      ...(outcome.event === 'succeed' ? { result: storable(outcome.result) } : {}),
      ...(outcome.event === 'fail'
        ? { error_code: outcome.code, error: outcome.detail, error_extra: storable(outcome.extra ?? {}) }
        : {}),
      ...(outcome.event === 'stop' ? { attempts: eb('attempts', '-', 1) } : {}),
    }))
    .where('state', 'in', from)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** @returns null when the task does not exist or has ended */
export async function cancel(db: Db, id: number, now: Date): Promise<TaskRow | null> {
  const { from, set } = moved(now, 'cancel')
  const row = await db
    .updateTable('tasks')
    .set(set)
    .where('id', '=', id)
    .where('state', 'in', from)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Kinds that have tasks. */
export async function kindsOfTasks(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('tasks').select('kind').distinct().execute()
  return rows.map(({ kind }) => kind)
}

/** Tasks of a kind that ended before `before`; the last one of each key is kept until it is older than `lastBefore`. */
const ended = (
  kind: string,
  before: Date,
  lastBefore: Date,
) => sql`from tasks t where kind = ${kind} and finished_at < ${before}
  and (finished_at < ${lastBefore} or exists (
    select 1 from tasks later where later.kind = t.kind and later.key = t.key and later.id > t.id))`

/** Deletes up to 500 of them. @returns their number */
export async function deleteEnded(db: Db, kind: string, before: Date, lastBefore: Date): Promise<number> {
  const { rows } = await sql`delete from tasks where id in (
    select id ${ended(kind, before, lastBefore)} order by id limit 500) returning id`.execute(db)
  return rows.length
}

export async function countEnded(db: Db, kind: string, before: Date, lastBefore: Date): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*)::int as n ${ended(kind, before, lastBefore)}`.execute(db)
  return rows[0]?.n ?? 0
}

const held = (db: Db, { id, holder }: Hold) =>
  db
    .updateTable('tasks')
    .where('id', '=', id)
    .where('holder', '=', holder)
    .where('state', 'in', ['running', 'cancelling'])

/** JSON text without characters that PostgreSQL cannot store. */
export function storable(value: Json): string {
  return JSON.stringify(parseJson(JSON.stringify(value)))
}
