// The time of the database. All replicas compare rows, sign and date by it, so a wrong clock of a machine harms nobody.
import { sql } from 'kysely'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from './db.ts'

/** A process whose machine's clock is further off does not lead, and its health report says so. NTP keeps clocks within 0.1 s. */
export const MOST_OFFSET_MS = 5_000

export interface DatabaseClock extends Clock {
  /** Asks the database for its time. @throws when it does not answer; the clock then continues unchanged */
  measure(): Promise<void>
  /** by how much the clock of this machine is ahead of the database's; negative when it is behind */
  offsetMs(): number
}

/** Never goes backwards and is independent of the machine's clock, so that setting that clock does not move ours. */
const steady = () => performance.now()

/** @param deps.ask the time of the database in milliseconds since 1970 */
export async function createDatabaseClock(deps: {
  ask(): Promise<number>
  steady?: () => number
  machine?: () => number
}): Promise<DatabaseClock> {
  const { machine = () => Date.now(), steady: since = steady } = deps
  /** added to the steady time */
  let base: number | null = null

  async function measure(): Promise<void> {
    const before = since()
    const told = await deps.ask()
    // The answer was given between these two moments. A base within these bounds stays, so a slow answer moves nothing.
    const [least, most] = [told - since(), told - before]
    base = base === null ? (least + most) / 2 : Math.min(Math.max(base, least), most)
  }

  await measure()
  const now = () => since() + (base as number)
  return { now: () => new Date(now()), measure, offsetMs: () => machine() - now() }
}

export async function askDatabase(db: Db): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db)
  return rows[0]!.ms
}

/** For tests, which move the time: it measures nothing. */
export function asDatabaseClock(clock: Clock): DatabaseClock {
  return { now: clock.now, measure: () => Promise.resolve(), offsetMs: () => 0 }
}

/** @returns the fault of this machine's clock; null when it is accurate enough */
export function clockFault({ offsetMs }: Pick<DatabaseClock, 'offsetMs'>): string | null {
  const ms = offsetMs()
  if (Math.abs(ms) <= MOST_OFFSET_MS) return null
  return `the clock of this machine is ${Math.round(Math.abs(ms) / 1000)} s ${ms > 0 ? 'ahead of' : 'behind'} the database's`
}
