// The session with the embedded database: one thread, one caller at a time. Starts the thread, replaces it when its memory
// has grown, and starts it again after a crash.
import type { Worker } from 'node:worker_threads'
import { asError } from '../../kernel/errors.ts'
import { DatabaseAway } from '../database-away.ts'
import type { CopyLease, Result } from '../lease.ts'
import type { Page, Request, Response, Statement } from './messages.ts'

export interface Session {
  /** Resolves when no other caller has the session and the database is open. */
  acquire(): Promise<CopyLease>
  /** Ends the thread after the last caller. */
  close(): Promise<void>
}

export class DatabaseStopped extends DatabaseAway {
  override name = 'DatabaseStopped'
}

export interface SessionOptions {
  /** starts a thread that runs `thread.ts` */
  start: () => Worker
  /** false for a database in memory: it is lost with its thread, which is neither replaced nor started again */
  durable: boolean
  /** longest time of one statement, ms: the thread is ended, because nothing else stops a statement */
  limitMs?: number
  /** how often the size of the thread is checked, ms */
  watchMs?: number
  /**
   * a thread of this size is replaced when few callers came since the last check, bytes; the first thread is replaced at any
   * size
   */
  largeBytes?: number
}

/** Longest time of one statement, on both engines. The longest regular one, the vacuum after an import, takes seconds. */
export const LONGEST_STATEMENT_MS = 5 * 60 * 1000
const WATCH_MS = 15_000
/** PGlite starts with 128 MiB, of which 30 are resident. */
const LARGE_BYTES = 160 * 1024 * 1024
/** With at most this many callers between two checks the database is idle: heartbeats and the lease of the leader. */
const FEW_CALLERS = 25

interface Thread {
  worker: Worker
  bytes: number
  /** set when the thread has ended or must not be used any more */
  stopped: DatabaseStopped | null
  /** the caller that waits for an answer */
  waiting: { resolve: (response: Response) => void; reject: (error: Error) => void } | null
}

/** Opens the database. */
export async function createSession(options: SessionOptions): Promise<Session> {
  const { start, durable, limitMs = LONGEST_STATEMENT_MS, watchMs = WATCH_MS, largeBytes = LARGE_BYTES } = options
  let thread = await open(start)
  let last: Promise<void> = Promise.resolve()
  let callers = 0
  let closed = false
  let replacing = false
  /** The first thread created the directory or ran migrations: a new one, started when idle, is 100 MB smaller (460 to 360). */
  let isFirst = true

  /** Waits for the earlier callers. @returns a function that lets the next one continue */
  async function turn(): Promise<() => void> {
    const before = last
    let end!: () => void
    last = new Promise((resolve) => (end = resolve))
    await before
    return end
  }

  async function reopen(): Promise<void> {
    thread = await open(start)
  }

  const watch = setInterval(() => {
    const isIdle = callers < FEW_CALLERS
    callers = 0
    if (durable && isIdle && !replacing && (isFirst || thread.bytes >= largeBytes)) void replace()
  }, watchMs)
  watch.unref()

  /** Closing and opening takes about a second, in which callers wait. After a failure to open, the next caller tries again. */
  async function replace(): Promise<void> {
    replacing = true
    isFirst = false
    const end = await turn()
    try {
      if (closed || thread.stopped) return
      await closeThread(thread)
      await reopen()
    } catch (error) {
      thread.stopped ??= new DatabaseStopped(`the embedded database did not open: ${(error as Error).message}`)
    } finally {
      replacing = false
      end()
    }
  }

  return {
    async acquire() {
      callers++
      const end = await turn()
      try {
        if (closed) throw new DatabaseStopped('the embedded database is closed')
        if (thread.stopped && !durable) throw thread.stopped
        if (thread.stopped) await reopen()
      } catch (error) {
        end()
        throw error
      }
      // A transaction belongs to the thread in which it began: it must not continue in the next one.
      const own = thread
      return {
        query: (sql, parameters) => query(own, { sql, parameters }, limitMs),
        async copyOut(source) {
          const { blob } = await query(own, { sql: `copy ${source} to '/dev/blob'`, parameters: [] }, limitMs)
          return blob ?? new Uint8Array()
        },
        async copyIn(target, blob) {
          await query(own, { sql: `copy ${target} from '/dev/blob'`, parameters: [], blob }, limitMs)
        },
        release: end,
      }
    },

    async close() {
      clearInterval(watch)
      const end = await turn()
      closed = true
      try {
        if (!thread.stopped) await closeThread(thread)
      } finally {
        end()
      }
    },
  }
}

async function open(start: () => Worker): Promise<Thread> {
  const worker = start()
  const thread: Thread = { worker, bytes: 0, stopped: null, waiting: null }
  const stop = (reason: string) => {
    thread.stopped ??= new DatabaseStopped(`the embedded database stopped: ${reason}`)
    thread.waiting?.reject(thread.stopped)
    thread.waiting = null
  }
  worker.on('message', (response: Response) => {
    const { waiting } = thread
    thread.waiting = null
    waiting?.resolve(response)
  })
  worker.on('error', (error) => stop(asError(error).message))
  worker.on('exit', (code) => stop(`its thread ended with ${code}`))
  const ready = await answer(thread)
  if ('ready' in ready) thread.bytes = ready.bytes
  return thread
}

function answer(thread: Thread): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (thread.stopped) reject(thread.stopped)
    else thread.waiting = { resolve, reject }
  })
}

function send(thread: Thread, request: Request, transferred: ArrayBuffer[] = []): Promise<Response> {
  const answered = answer(thread)
  if (!thread.stopped) thread.worker.postMessage(request, transferred)
  return answered
}

async function query(thread: Thread, given: Statement, limitMs: number): Promise<Result & { blob?: Uint8Array }> {
  const transferred: ArrayBuffer[] = []
  const { sql } = given
  const parameters = given.parameters.map((value) => sendable(value, transferred))
  const blob = given.blob && { blob: sendable(given.blob, transferred) as Uint8Array }
  const deadline = setTimeout(() => {
    thread.stopped ??= new DatabaseStopped(`a statement took longer than ${limitMs / 1000} s and was stopped`)
    void thread.worker.terminate()
  }, limitMs)
  try {
    const rows: Result['rows'] = []
    let response = await send(thread, { sql, parameters, ...blob }, transferred)
    for (;;) {
      if ('error' in response) throw Object.assign(new Error(response.error.message), response.error.fields)
      if (!('rows' in response)) throw new DatabaseStopped('the embedded database sent no result')
      for (const row of recordsOf(response)) rows.push(row)
      thread.bytes = response.bytes
      if (!response.more)
        return { rows, affectedRows: response.affectedRows, ...(response.blob && { blob: response.blob }) }
      response = await send(thread, { next: true })
    }
  } finally {
    clearTimeout(deadline)
  }
}

/** Structured cloning copies the whole buffer under a view, which may be a slab that many views share. */
function sendable(value: unknown, transferred: ArrayBuffer[]): unknown {
  if (!(value instanceof Uint8Array)) return value
  const copy = new Uint8Array(value)
  transferred.push(copy.buffer)
  return copy
}

function recordsOf({ columns, json, rows }: Page): Record<string, unknown>[] {
  return rows.map((values) => {
    const record = Object.fromEntries(columns.map((column, place) => [column, values[place]]))
    for (const place of json) {
      const text = values[place]
      if (typeof text === 'string') record[columns[place]!] = JSON.parse(text)
    }
    return record
  })
}

async function closeThread(thread: Thread): Promise<void> {
  const ended = new Promise<void>((resolve) => thread.worker.once('exit', () => resolve()))
  await send(thread, { close: true })
  await ended
}
