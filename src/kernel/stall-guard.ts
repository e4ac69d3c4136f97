// Time limits for work on a file system that may stall, as a remote one does while its server restarts.
import { Problem } from '../domain/problem.ts'
import { atMost } from './in-time.ts'
import { createSemaphore } from './semaphore.ts'

/** A stalled operation keeps its thread of the pool until the file system answers; the remaining threads are for other work. */
const AT_ONCE = 8
const RETRY_SECONDS = 5

/**
 * @param unused receives a result that is too late for the caller
 * @throws Problem('storage_unavailable') when the work has not ended in time, and immediately while earlier work has not ended
 */
export type StallGuard = <T>(work: () => Promise<T>, unused?: (result: T) => unknown) => Promise<T>

export function createStallGuard(name: string, ms: number): StallGuard {
  const limited = createSemaphore(AT_ONCE)
  let late = 0
  const stalled = () =>
    new Problem(
      'storage_unavailable',
      `the file system of ${name} does not answer`,
      {},
      { retryAfterSeconds: RETRY_SECONDS },
    )

  return async (work, unused = () => undefined) => {
    if (late > 0) throw stalled()
    const result = limited(work)
    let hasEnded = false as boolean
    const ended = result.then(
      () => void (hasEnded = true),
      () => void (hasEnded = true),
    )
    await atMost(ms, ended)
    if (hasEnded) return result
    late++
    void ended.then(() => late--)
    result.then(unused).catch(() => undefined)
    throw stalled()
  }
}
