// The log lines of one run of a task: collected, written in batches in their order, and limited in number.
import { sql } from 'kysely'
import { parseJson, type Json } from '../domain/json.ts'
import type { Clock } from '../kernel/clock.ts'
import type { LiveLine, LiveLines } from '../store/redis/live-lines.ts'
import type { Db } from '../store/db.ts'
import type { TaskLineRow, TaskRow } from '../store/tables.ts'
import { storable, type Hold } from './rows.ts'
import type { TaskLine } from './task-query.ts'

/** Lines kept for each task: the last ones. */
export const MOST_LINES = 1000
/** Most lines that wait for the database. Further ones are counted and left out. */
const MOST_WAITING = 200
const LONGEST_MESSAGE = 1000
/** Characters of JSON; longer data are left out. */
const LONGEST_DATA = 4000

/** How long lines that are already shown live may wait for the database, in milliseconds. */
const LIVE_WAIT_MS = 2_000
/** This many lines are written without further delay. */
const FULL_BATCH = 50

interface Line {
  seq: number
  at: Date
  level: TaskLineRow['level']
  message: string
  data: string | null
}

export interface TaskLines {
  /** Writes lines that an earlier run showed live but did not write before it died. Call it before `add`. */
  adopt(): Promise<void>
  /** Never throws and does not wait. */
  add(message: string, data?: Json): void
  /** Resolves when every line added so far is written or lost. */
  flush(): Promise<void>
}

/**
 * Lines are numbered here, because only the holder of a task adds any. While live lines work, they are shown there immediately
 * and written to the database every two seconds; otherwise each is written as soon as the previous one is.
 * @param deps.task the task as it was claimed
 * @param deps.added called when added lines can be read
 * @param deps.onError called when lines could not be written; the work continues without them
 */
export function createTaskLines(deps: {
  db: Db
  clock: Clock
  live: LiveLines
  hold: Hold
  task: Pick<TaskRow, 'attempts' | 'line_count'>
  added(): void
  onError(error: unknown): void
}): TaskLines {
  const { db, clock, live, hold, task } = deps
  const run = { id: hold.id, attempt: task.attempts }
  let seq = task.line_count
  let waiting: Line[] = []
  let unsent: Line[] = []
  let leftOut = 0
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> | null = null
  let sending: Promise<void> | null = null

  function put(level: Line['level'], message: string, data?: Json): void {
    const line = { seq: ++seq, ...lineOf(clock.now(), level, message, data) }
    waiting.push(line)
    if (live.areUp()) unsent.push(line)
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      if (leftOut > 0) put('warn', `${leftOut} lines were left out: they came too fast`)
      leftOut = 0
      const lines = waiting
      waiting = []
      try {
        await insertLines(db, hold, lines)
        deps.added()
      } catch (error) {
        deps.onError(error)
      }
    }
  }

  function write(): void {
    if (timer) clearTimeout(timer)
    timer = null
    writing ??= writeAll().finally(() => {
      writing = null
      // Lines were added since the last check.
      if (waiting.length > 0) write()
    })
  }

  async function sendAll(): Promise<void> {
    while (unsent.length > 0) {
      const lines = unsent
      unsent = []
      const sent = await live.add(
        run,
        lines.map(({ seq, ...line }) => ({ seq, value: JSON.stringify(line) })),
      )
      if (sent) deps.added()
      else write()
    }
  }

  function send(): void {
    sending ??= sendAll().finally(() => {
      sending = null
      if (unsent.length > 0) send()
    })
  }

  return {
    async adopt() {
      if (!live.areUp()) return
      for (const attempt of [run.attempt - 1, run.attempt]) {
        const found = await live.after({ id: run.id, attempt }, seq, MOST_LINES)
        const lines = found.flatMap((line) => {
          const read = readLive(line)
          return read ? [{ ...read, data: read.data && storable(read.data) }] : []
        })
        if (lines.length === 0) continue
        try {
          await insertLines(db, hold, lines)
          seq = lines.at(-1)!.seq
        } catch (error) {
          deps.onError(error)
        }
      }
    },
    add(message, data) {
      if (waiting.length >= MOST_WAITING) {
        leftOut++
        return
      }
      put('info', message, data)
      if (unsent.length === 0 || waiting.length >= FULL_BATCH) write()
      else timer ??= setTimeout(write, LIVE_WAIT_MS).unref()
      send()
    },
    async flush() {
      if (waiting.length > 0) write()
      while (writing) await writing
      while (sending) await sending
    },
  }
}

function lineOf(at: Date, level: Line['level'], message: string, data?: Json): Omit<Line, 'seq'> {
  const json = data ? storable(data) : null
  return {
    at,
    level,
    message: (parseJson(JSON.stringify(message.slice(0, LONGEST_MESSAGE))) as string).replaceAll('\n', ' '),
    data: json !== null && json.length > LONGEST_DATA ? null : json,
  }
}

/** Reads a live line of `createTaskLines`. @returns null when it is no valid line */
export function readLive({ seq, value }: LiveLine): TaskLine | null {
  try {
    const { at, level, message, data } = JSON.parse(value) as Record<string, unknown>
    const time = new Date(String(at))
    if (Number.isNaN(time.getTime()) || typeof message !== 'string') return null
    return {
      seq,
      at: time,
      level: level === 'warn' ? 'warn' : 'info',
      message,
      data: typeof data === 'string' ? (JSON.parse(data) as Json) : null,
    }
  } catch {
    return null
  }
}

/** Adds lines in one statement if the task is still held, and deletes all but the last `MOST_LINES`. */
async function insertLines(db: Db, hold: Hold, lines: readonly Line[]): Promise<void> {
  const last = lines.at(-1)!.seq
  await sql`
    with task as (
      update tasks set line_count = greatest(line_count, ${last}::int)
      where id = ${hold.id} and holder = ${hold.holder} and state in ('running', 'cancelling') returning id)
    insert into task_lines (task_id, seq, at, level, message, data)
    select task.id, l.seq, l.at, l.level, l.message, l.data::jsonb
    from task, unnest(${lines.map(({ seq }) => seq)}::int[], ${lines.map(({ at }) => at.toISOString())}::timestamptz[],
      ${lines.map(({ level }) => level)}::text[], ${lines.map(({ message }) => message)}::text[],
      ${lines.map(({ data }) => data)}::text[]) as l (seq, at, level, message, data)
    on conflict do nothing`.execute(db)
  if (last <= MOST_LINES) return
  await db
    .deleteFrom('task_lines')
    .where('task_id', '=', hold.id)
    .where('seq', '<=', last - MOST_LINES)
    .execute()
}
