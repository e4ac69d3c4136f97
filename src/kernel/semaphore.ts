// Limits how many pieces of work run at the same time.

/**
 * Runs pieces of work while their widths together are at most `limit`; the others wait in the order of the calls. One that is
 * wider than the limit runs alone.
 */
export function createSemaphore(limit: number): <T>(work: () => Promise<T>, width?: number) => Promise<T> {
  let free = limit
  const waiting: { width: number; begin(): void }[] = []

  function admit(): void {
    for (let next = waiting[0]; next && next.width <= free; next = waiting[0]) {
      waiting.shift()
      free -= next.width
      next.begin()
    }
  }

  return async (work, wanted = 1) => {
    const width = Math.min(wanted, limit)
    await new Promise<void>((begin) => {
      waiting.push({ width, begin })
      admit()
    })
    try {
      return await work()
    } finally {
      free += width
      admit()
    }
  }
}
