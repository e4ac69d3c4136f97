// Delays repeated guesses: each attempt for a key waits longer than the one before.
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../kernel/clock.ts'

const FREE_TRIES = 5
const FIRST_DELAY_MS = 500
const LONGEST_DELAY_MS = 8_000

export interface Slowing {
  /**
   * Resolves when the attempt may be made. It counts as failed until `succeeded` is called, so that parallel attempts
   * are all counted.
   * @throws Problem `unauthorized` when the signal ends the wait
   */
  attempt(key: string, signal?: AbortSignal): Promise<void>
  succeeded(key: string): void
}

/**
 * Nothing is ever locked: after five attempts without delay, the delay doubles from 0.5 s up to 8 s per key.
 * @param deps.capacity keys remembered; beyond it the least recently used one is dropped
 * @param deps.forgetAfterMs time since the last attempt after which a key starts anew
 * @param deps.wait resolves after the given milliseconds, rejects when the signal aborts
 */
export function createSlowing(deps: {
  clock: Clock
  wait: (ms: number, signal?: AbortSignal) => Promise<void>
  capacity?: number
  forgetAfterMs?: number
}): Slowing {
  const { clock, wait, capacity = 10_000, forgetAfterMs = 15 * 60_000 } = deps
  // A Map keeps insertion order and every use inserts anew, so the first key is the least recently used one.
  const tries = new Map<string, { failed: number; at: number }>()

  return {
    async attempt(key, signal) {
      const now = clock.now().getTime()
      const before = tries.get(key)
      const failed = before && now - before.at < forgetAfterMs ? before.failed : 0
      tries.delete(key)
      tries.set(key, { failed: failed + 1, at: now })
      for (const oldest of tries.keys()) {
        if (tries.size <= capacity) break
        tries.delete(oldest)
      }
      if (failed < FREE_TRIES) return
      try {
        await wait(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failed - FREE_TRIES)), signal)
      } catch (error) {
        if (signal?.aborted) throw new Problem('unauthorized', 'the attempt was given up', {}, { cause: error })
        throw error
      }
    },
    succeeded(key) {
      tries.delete(key)
    },
  }
}
