// Requests of one batch of lines, added up by client, user agent, path and day.
import { DAY_SECONDS } from '../../store/downloads/days.ts'
import { clientOf, GIVES, type LogLine } from './log-line.ts'

/** Answers to a client with one user agent for one path on one day. */
export interface Tally {
  target: string
  /** the client: its address, and after a blank who signed in there */
  address: string
  agent: string
  day: number
  /** answers with the whole file, or with a redirect to the object store */
  whole: number
  /** whether the first answer was a range: it continues an earlier download, or begins one */
  beganWithRange: boolean
  redirects: number
  /** as logged, without those of redirects */
  bytes: number
}

export interface Tallies {
  add(line: LogLine): void
  /** number of different tallies */
  readonly size: number
  /** number of characters that they keep in memory */
  readonly chars: number
  readonly all: Iterable<Tally>
  /** the last lines, oldest first */
  readonly recent: readonly LogLine[]
}

/** Lines that are kept as they were logged. */
export const MOST_RECENT = 50

export function createTallies(): Tallies {
  const tallies = new Map<string, Tally>()
  let chars = 0
  let recent: LogLine[] = []
  return {
    add(line) {
      const { target, agent, status, bytes } = line
      const address = clientOf(line)
      const day = Math.floor(line.at / DAY_SECONDS)
      // The user agent may contain spaces, and it is the last part.
      const key = `${day} ${line.address} ${line.reader ?? '-'} ${target} ${agent}`
      let tally = tallies.get(key)
      if (!tally) {
        tally = { target, address, agent, day, whole: 0, beganWithRange: false, redirects: 0, bytes: 0 }
        tallies.set(key, tally)
        chars += 2 * key.length
      }
      if (status === GIVES.range) tally.beganWithRange ||= tally.whole === 0
      else tally.whole++
      if (status === GIVES.redirect) tally.redirects++
      else tally.bytes += bytes
      recent.push(line)
      if (recent.length > 20 * MOST_RECENT) recent = recent.slice(-MOST_RECENT)
    },
    get size() {
      return tallies.size
    },
    get chars() {
      return chars
    },
    get all() {
      return tallies.values()
    },
    get recent() {
      return recent.slice(-MOST_RECENT)
    },
  }
}
