// The log lines of one run of a task: collected, written together in the order they came, and limited in number.
import { sql } from 'kysely'
import { parseJson, type Json } from '../domain/json.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import type { TaskLineRow } from '../store/tables.ts'
import { storable, type Hold } from './rows.ts'

/** Lines kept for each task: the last ones. */
export const MOST_LINES = 1000
/** Lines that may wait for the database. Further ones are counted and left out. */
const MOST_WAITING = 200
const LONGEST_MESSAGE = 1000
/** Characters of JSON; longer data are left out. */
const LONGEST_DATA = 4000

interface Line {
  at: Date
  level: TaskLineRow['level']
  message: string
  data: string | null
}

export interface TaskLines {
  /** Never throws and does not wait. */
  add(message: string, data?: Json): void
  /** Resolves when every line added so far is written or lost. */
  flush(): Promise<void>
}

/**
 * @param written called after lines were written
 * @param onError called when lines could not be written; the work goes on without them
 */
export function createTaskLines(deps: {
  db: Db
  clock: Clock
  hold: Hold
  written(): void
  onError(error: unknown): void
}): TaskLines {
  const { db, clock, hold } = deps
  let waiting: Line[] = []
  let leftOut = 0
  let writing: Promise<void> | null = null

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting
      waiting = []
      if (leftOut > 0) lines.push(line('warn', `${leftOut} lines were left out: they came too fast`))
      leftOut = 0
      try {
        await insertLines(db, hold, lines)
        deps.written()
      } catch (error) {
        deps.onError(error)
      }
    }
  }

  function write(): void {
    writing ??= writeAll().finally(() => {
      writing = null
      // Added since the last check.
      if (waiting.length > 0) write()
    })
  }

  function line(level: Line['level'], message: string, data?: Json): Line {
    const json = data ? storable(data) : null
    return {
      at: clock.now(),
      level,
      message: (parseJson(JSON.stringify(message.slice(0, LONGEST_MESSAGE))) as string).replaceAll('\n', ' '),
      data: json !== null && json.length > LONGEST_DATA ? null : json,
    }
  }

  return {
    add(message, data) {
      if (waiting.length >= MOST_WAITING) {
        leftOut++
        return
      }
      waiting.push(line('info', message, data))
      write()
    },
    async flush() {
      while (writing) await writing
    },
  }
}

/** Adds lines in one statement, if the task is still held, and deletes those before the last `MOST_LINES`. */
async function insertLines(db: Db, hold: Hold, lines: readonly Line[]): Promise<void> {
  const { rows } = await sql<{ seq: number }>`
    with task as (
      update tasks set line_count = line_count + ${lines.length}::int
      where id = ${hold.id} and holder = ${hold.holder} and state in ('running', 'cancelling') returning line_count)
    insert into task_lines (task_id, seq, at, level, message, data)
    select ${hold.id}::bigint, task.line_count - ${lines.length}::int + l.n::int, l.at, l.level, l.message, l.data::jsonb
    from task, unnest(${lines.map(({ at }) => at.toISOString())}::timestamptz[], ${lines.map(({ level }) => level)}::text[],
      ${lines.map(({ message }) => message)}::text[], ${lines.map(({ data }) => data)}::text[])
      with ordinality as l (at, level, message, data, n)
    returning seq`.execute(db)
  const last = Math.max(0, ...rows.map(({ seq }) => seq))
  if (last <= MOST_LINES) return
  await db
    .deleteFrom('task_lines')
    .where('task_id', '=', hold.id)
    .where('seq', '<=', last - MOST_LINES)
    .execute()
}
