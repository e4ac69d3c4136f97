// Totals of filtered lists, cached for some seconds: counting 100,000 rows for each page costs more than the page.
import type { Clock } from '../../kernel/clock.ts'

export interface Totals {
  /** @param key identifies the filter */
  of(key: string, count: () => Promise<number>): Promise<number>
  /** Drops all cached totals and those being counted. Call it after every change of what is counted. */
  forget(): void
}

const MOST_KEYS = 500

/** @param ttlSeconds how long changes by another replica may stay unseen; 0 caches nothing */
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
      // After a `forget` this is the old map, which nobody reads any more.
      here.set(key, { total, until: now + ttlSeconds * 1000 })
      return total
    },
    forget: () => void (known = new Map()),
  }
}
