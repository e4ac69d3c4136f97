// One run of work for all callers that arrive before it begins.
import { createKeyed } from './keyed.ts'
import { nextTurn } from './next-turn.ts'

/**
 * Callers that arrive before a run begins share it; callers that arrive while it is running share the next one, which starts
 * after it ends.
 * @param gather how long a run waits for more callers before it begins; `queued` says whether it waited for another run
 */
export function createShared<T>(
  work: () => Promise<T>,
  gather: (queued: boolean) => Promise<void> = nextTurn,
): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  let running = 0
  let next: Promise<T> | null = null
  return () => {
    if (!next) {
      const queued = running > 0
      running++
      next = last
        .then(() => gather(queued))
        .then(() => {
          next = null
          return work()
        })
        .finally(() => running--)
      last = next.catch(() => {})
    }
    return next
  }
}

/** Separate runs for each key. */
export function createKeyedShared<K, T>(work: (key: K) => Promise<T>): (key: K) => Promise<T> {
  const sharedOf = createKeyed((key: K) => createShared(() => work(key)))
  return (key) => sharedOf(key)()
}
