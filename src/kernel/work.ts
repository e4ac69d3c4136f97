// Which request or task is running: an uncaught error fails only that one.
import { AsyncLocalStorage } from 'node:async_hooks'

export interface Work {
  readonly kind: 'request' | 'task'
  /** for the log */
  about(): Readonly<Record<string, string | number | undefined>>
  /** Ends it as failed, also when its code waits for something that will never happen. */
  fail(error: unknown): void
  /** Errors after the end belong to no work. */
  isOver: boolean
}

const running = new AsyncLocalStorage<Work>()

/** Everything that the body starts belongs to the work, until other work starts in it. It costs 0.1 µs. */
export function runWork<T>(work: Work, body: () => T): T {
  return running.run(work, body)
}

/** Runs the body without catching its errors: an error becomes an uncaught error of this work. @returns null after an error */
export function runUncaught<T>(work: Work, body: () => T): T | null {
  return running.run(work, () => {
    try {
      return body()
    } catch (error) {
      // Thrown directly, it would first leave the work.
      queueMicrotask(() => {
        throw error
      })
      return null
    }
  })
}

/** The running work; null outside of any, and after its end. */
export function currentWork(): Work | null {
  const work = running.getStore()
  return work && !work.isOver ? work : null
}
