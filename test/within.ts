// Limits on the time that work takes, for machines that stall.
import { performance } from 'node:perf_hooks'

const ATTEMPTS = 5

/** @returns the least of up to five measurements, or the first that is below the limit */
export async function least(limit: number, measure: () => Promise<number>): Promise<number> {
  let found = Infinity
  for (let attempt = 0; attempt < ATTEMPTS && found >= limit; attempt++) found = Math.min(found, await measure())
  return found
}

/**
 * Runs the work, and again while it takes too long, up to five times. A machine that stalls makes one run slow; slow code
 * is slow each time. The limit guards against hangs and quadratic time, so it is far above the honest time.
 *
 * @returns what the last run returned
 * @throws what a run throws; an error with all times when each run took more than `limitMs` milliseconds
 */
export async function within<T>(limitMs: number, work: () => T | Promise<T>, what = 'the work'): Promise<T> {
  const times: number[] = []
  for (;;) {
    const began = performance.now()
    const result = await work()
    const ms = performance.now() - began
    if (ms <= limitMs) return result
    times.push(Math.round(ms))
    if (times.length === ATTEMPTS)
      throw new Error(`${what} took ${times.join(', ')} ms; at most ${limitMs} are allowed`)
  }
}
