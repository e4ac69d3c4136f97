// Limits how many pieces of work run at the same time.

/** Runs at most `limit` pieces of work at the same time; the others wait in the order of the calls. */
export function createSemaphore(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = limit
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      // A waiting caller takes the slot over directly: `free` does not change.
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }
}
