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

/** What the present turn of the event loop still brings comes before it. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/**
 * Runs `work` for everybody who asked before it began, once: callers that arrive while a run is under way share the
 * next one, which starts after it.
 * @param gather how long a run still waits for company; told whether it had to wait for another run
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

export interface Expected {
  /** One more is on its way. @returns what to call when it came or will not come */
  add(): () => void
  /** Waits until nobody is on the way, at most that long. */
  settled(atMostMs: number): Promise<void>
}

/** Counts those on their way to a common piece of work, so that it can wait a little for them. */
export function createExpected(): Expected {
  let count = 0
  let told: (() => void)[] = []
  return {
    add() {
      let open = true
      count++
      return () => {
        if (!open) return
        open = false
        if (--count > 0) return
        for (const tell of told) tell()
        told = []
      }
    },
    async settled(atMostMs) {
      if (count === 0) return
      let timer: NodeJS.Timeout | undefined
      await Promise.race([
        new Promise<void>((resolve) => told.push(resolve)),
        new Promise<void>((resolve) => (timer = setTimeout(resolve, atMostMs))),
      ])
      clearTimeout(timer)
    },
  }
}

export type Outcome<T> = { value: T } | { error: unknown }

/**
 * Does together what comes together: items that arrive while a batch is under way make the next one.
 * @param work one outcome for each item, in their order; what it throws is the outcome of all
 * @param most items in one batch
 */
export function createBatches<I, O>(
  work: (items: I[]) => Promise<Outcome<O>[]>,
  most: number,
): (item: I) => Promise<O> {
  const waiting: { item: I; resolve: (value: O) => void; reject: (error: unknown) => void }[] = []
  let running = false

  async function run(): Promise<void> {
    running = true
    await nextTurn()
    while (waiting.length > 0) {
      const batch = waiting.splice(0, most)
      const outcomes = await work(batch.map(({ item }) => item)).catch((error: unknown) => batch.map(() => ({ error })))
      for (const [i, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[i] ?? { error: new Error('a batch has no outcome for one of its items') }
        if ('value' in outcome) resolve(outcome.value)
        else reject(outcome.error)
      }
    }
    running = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!running) void run()
    })
}

/** As `Promise.all`, but nothing of it is still under way when it returns or throws. */
export async function allEnded<T extends readonly unknown[]>(work: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const ends = await Promise.allSettled(work)
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
  return ends.map((end) => (end as PromiseFulfilledResult<unknown>).value) as unknown as T
}

/** Does the work on each item, `size` of them at once; nothing more is begun after a failure. */
export async function inGroups<I, O>(
  items: readonly I[],
  size: number,
  work: (item: I) => O | Promise<O>,
): Promise<O[]> {
  const done: O[] = []
  for (let at = 0; at < items.length; at += size)
    done.push(...(await Promise.all(items.slice(at, at + size).map(work))))
  return done
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
