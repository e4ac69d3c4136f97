// Runs a transaction, and runs it again when PostgreSQL ended it because of others.
import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseBusy } from './database-away.ts'
import type { Db } from './db.ts'

/** A transaction that conflicts three times meets a high load, not a coincidence. */
const MOST_TRIES = 3
const LONGEST_PAUSE_MS = 50

/** 40P01: it was chosen to end a deadlock. 40001: others changed what it had read. In both cases it was rolled back. */
const AGAIN = new Set(['40P01', '40001'])

/**
 * @param work may run again from its beginning: it changes nothing but the database, and keeps nothing of an earlier try
 * @returns the result of the committed try
 * @throws DatabaseBusy when others ended every try
 */
export async function transaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      if (!isUndoneByOthers(error)) throw error
      if (attempt === MOST_TRIES) throw new DatabaseBusy(error)
      // A random pause, so that two transactions that conflicted do not conflict again.
      await delay(Math.random() * LONGEST_PAUSE_MS)
    }
  }
}

function isUndoneByOthers(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' && AGAIN.has(code)
}
