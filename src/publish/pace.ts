// How fast a distribution may be published: as fast as clients with an older index can follow.
import { MOST } from './tree/superseded.ts'

/**
 * Bytes of indexes a second. After half of the bound at once, superseded generations reach `MOST.bytes` after 16 s. 10,000
 * deb packages (3.5 MB for each publish) are published 73 times at once and then 4.8 times a second.
 */
const BYTES_PER_SECOND = 16 * 1024 * 1024
const AT_ONCE = MOST.bytes / 2
/** Least bytes counted for a publish, so that publishes of small distributions keep to `MOST.number` in the same way. */
const LEAST_BYTES = MOST.bytes / MOST.number
/** No upload waits longer because of the pace. A publish of that many bytes takes longer than this itself. */
const MOST_MS = 2000

export interface Pace {
  /** Milliseconds until the next publish should begin. Packages that are offered meanwhile join it. */
  wait(now: number): number
  /** Notes a publish. @param bytes that it wrote */
  published(bytes: number, now: number): void
}

/** A leaky bucket: a publish after a pause does not wait. Times are of `performance.now`. */
export function createPace(): Pace {
  let level = 0
  let at = 0
  const leak = (now: number) => {
    level = Math.max(0, level - ((now - at) / 1000) * BYTES_PER_SECOND)
    at = now
  }
  return {
    wait(now) {
      leak(now)
      return Math.min(MOST_MS, (Math.max(0, level - AT_ONCE) / BYTES_PER_SECOND) * 1000)
    },
    published(bytes, now) {
      leak(now)
      // Bytes beyond the longest wait are not counted, so that a few large publishes do not slow many small ones.
      level = Math.min(level + Math.max(bytes, LEAST_BYTES), AT_ONCE + (MOST_MS / 1000) * BYTES_PER_SECOND)
    },
  }
}
