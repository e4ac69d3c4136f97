// What the main thread and the thread of the embedded database send each other.

/** `workerData` of the thread. */
export interface ThreadData {
  /** directory of the database; null keeps it in memory */
  directory: string | null
  /** archive that a database in memory starts from; null runs initdb */
  seed: string | null
}

export interface Statement {
  sql: string
  parameters: readonly unknown[]
  /** what COPY FROM '/dev/blob' reads */
  blob?: Uint8Array
}

/** To the thread. The answers to a statement and to `next` are pages of one result. */
export type Request = Statement | { next: true } | { close: true }

/** From the thread: one for each request, in order, and one when the database is open. */
export type Response = { ready: true; bytes: number } | Page | Failure | { closed: true }

export interface Page {
  columns: readonly string[]
  /** places of the columns whose values are JSON text, parsed by the receiver */
  json: readonly number[]
  rows: readonly (readonly unknown[])[]
  /** the rest of the result is sent when it is asked for */
  more: boolean
  affectedRows: number | undefined
  /** what COPY TO '/dev/blob' wrote, with the last page */
  blob?: Uint8Array
  /** size of the database's memory: it grows and never shrinks */
  bytes: number
}

export interface Failure {
  error: { message: string; fields: Readonly<Record<string, unknown>> }
}
