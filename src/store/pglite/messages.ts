// The messages between the main thread and the thread of the embedded database.

/** `workerData` of the thread. */
export interface ThreadData {
  /** directory of the database; null keeps it in memory */
  directory: string | null
  /** archive with the initial content of a database in memory; null runs initdb */
  seed: string | null
}

export interface Statement {
  sql: string
  parameters: readonly unknown[]
  /** the content of '/dev/blob' for COPY FROM */
  blob?: Uint8Array
}

/** To the thread. A statement and each `next` are answered with a page of the same result. */
export type Request = Statement | { next: true } | { close: true }

/** From the thread: one for each request, in order, and one when the database has opened. */
export type Response = { ready: true; bytes: number } | Page | Failure | { closed: true }

export interface Page {
  columns: readonly string[]
  /** positions of columns with JSON text, which the receiver parses */
  json: readonly number[]
  rows: readonly (readonly unknown[])[]
  /** whether `next` returns more of the result */
  more: boolean
  affectedRows: number | undefined
  /** the content of '/dev/blob' after COPY TO, with the last page */
  blob?: Uint8Array
  /** size of the database's memory: it grows and never shrinks */
  bytes: number
}

export interface Failure {
  error: { message: string; fields: Readonly<Record<string, unknown>> }
}
