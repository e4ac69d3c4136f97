// What the main thread and the thread of the embedded database send each other.

/** `workerData` of the thread. */
export interface ThreadData {
  /** directory of the database; null keeps it in memory */
  directory: string | null
  /** archive that a database in memory starts from; null runs initdb */
  seed: string | null
}

/** To the thread. The answers to `sql` and `next` are pages of one result. */
export type Request = { sql: string; parameters: readonly unknown[] } | { next: true } | { close: true }

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
  /** size of the database's memory: it grows and never shrinks */
  bytes: number
}

export interface Failure {
  error: { message: string; fields: Readonly<Record<string, unknown>> }
}
