// How many rows a filter has, remembered for some seconds: counting 100,000 rows for each page costs more than the page.
import type { Clock } from '../../kernel/clock.ts'

export interface Totals {
  /** @param key of what is counted, the filter written out */
  of(key: string, count: () => Promise<number>): Promise<number>
  /** Something was added, changed or removed: nothing remembered, nor being counted now, is used any more. */
  forget(): void
}

const MOST_KEYS = 500

/** @param ttlSeconds how long a change made by another replica may go unseen; 0 remembers nothing */
export function createTotals({ clock, ttlSeconds }: { clock: Clock; ttlSeconds: number }): Totals {
  let known = new Map<string, { total: number; until: number }>()
  return {
    async of(key, count) {
      const now = clock.now().getTime()
      const found = known.get(key)
      if (found && found.until > now) return found.total
      const here = known
      const total = await count()
      if (here.size >= MOST_KEYS) here.clear()
      // Forgotten meanwhile: then it is kept where nobody looks.
      here.set(key, { total, until: now + ttlSeconds * 1000 })
      return total
    },
    forget: () => void (known = new Map()),
  }
}
