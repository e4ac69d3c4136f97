// Ordering of concurrent work inside one process.

/** Runs what it is given one after another, in the order of the calls; a failure does not stop the next. */
export function createSerial(): <T>(work: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = tail.then(work, work)
    tail = result.catch(() => {})
    return result
  }
}

/**
 * Runs `work` for everybody who asked before it began, once: callers that arrive while a run is under way share the
 * next one, which starts after it.
 */
export function createShared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null
  let next: Promise<T> | null = null
  const start = (): Promise<T> => {
    const run = work()
    running = run
    void run.catch(() => {}).finally(() => {
      if (running === run) running = null
    })
    return run
  }
  return () => {
    if (next) return next
    if (!running) return start()
    next = running.catch(() => {}).then(() => {
      next = null
      return start()
    })
    return next
  }
}

/** Lets at most `limit` pieces of work run at once. */
export function createLimiter(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = limit
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const first = waiting.shift()
      if (first) first()
      else free++
    }
  }
}
