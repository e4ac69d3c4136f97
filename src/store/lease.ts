// One session of either engine, lent to one caller: its statements, and COPY in both directions.

export interface Result {
  rows: Record<string, unknown>[]
  affectedRows: number | undefined
}

/** The session lent to one caller, for a statement or a transaction. */
export interface Lease {
  /**
   * @throws Error with the fields of PostgreSQL's error report (`code`, `constraint`, …)
   * @throws DatabaseStopped when the thread of the embedded database ended; an open transaction is lost
   */
  query(sql: string, parameters: readonly unknown[]): Promise<Result>
  release(): void
}

export interface CopyLease extends Lease {
  /**
   * Reads rows in COPY's text format. The whole result is held in memory: read large tables in parts.
   * @param source the text after COPY: a query in parentheses, or a table with its columns
   */
  copyOut(source: string): Promise<Uint8Array>
  /**
   * Writes rows.
   * @param target a table with its columns
   * @param text whole lines of COPY's text format; the caller must not change them until the promise settles
   */
  copyIn(target: string, text: Uint8Array): Promise<void>
}
