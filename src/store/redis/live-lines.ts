// The latest log lines of running tasks, so that every replica shows them before they are in the database.
import type { Redis } from './connection.ts'

/** A line of a task; `value` is the JSON of its other fields. */
export interface LiveLine {
  seq: number
  value: string
}

/** One run of a task. Runs of different processes never write to the same place. */
export interface LiveRun {
  id: number
  attempt: number
}

export interface LiveLines {
  areUp(): boolean
  /** @returns whether the lines are stored */
  add(run: LiveRun, lines: readonly LiveLine[]): Promise<boolean>
  /** Lines after this one, in order; none while Redis is unreachable. */
  after(run: LiveRun, seq: number, most: number): Promise<LiveLine[]>
}

/** For a process that keeps job state in the database only. */
export const NO_LIVE_LINES: LiveLines = {
  areUp: () => false,
  add: () => Promise.resolve(false),
  after: () => Promise.resolve([]),
}

/** Lines kept for each run: more than may wait for the database. */
const MOST_LINES = 1000
/** How long the lines of a run stay after the last one, in milliseconds. */
const KEPT_MS = 3_600_000

export function createLiveLines(redis: Redis): LiveLines {
  const keyOf = ({ id, attempt }: LiveRun) => redis.key('lines', id, attempt)
  return {
    areUp: redis.isUp,
    async add(run, lines) {
      const key = keyOf(run)
      const scored = lines.flatMap(({ seq, value }) => [seq, `${seq} ${value}`])
      try {
        await redis.run((client) =>
          Promise.all([
            client.zadd(key, ...scored),
            client.zremrangebyrank(key, 0, -MOST_LINES - 1),
            client.pexpire(key, KEPT_MS),
          ]),
        )
        return true
      } catch {
        return false
      }
    },
    async after(run, seq, most) {
      if (!redis.isUp()) return []
      const read = await redis
        .run((client) => client.zrangebyscore(keyOf(run), `(${seq}`, '+inf', 'LIMIT', 0, most))
        .catch(() => [])
      return read.flatMap(parse).sort((a, b) => a.seq - b.seq)
    },
  }
}

function parse(member: string): LiveLine[] {
  const space = member.indexOf(' ')
  const seq = Number(member.slice(0, space))
  return Number.isSafeInteger(seq) && seq > 0 ? [{ seq, value: member.slice(space + 1) }] : []
}
