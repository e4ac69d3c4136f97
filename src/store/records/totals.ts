// Totals of filtered lists, cached for some seconds: counting 100,000 rows for each page costs more than the page.
import type { Clock } from '../../kernel/clock.ts'
import type { SharedCache } from '../redis/shared-cache.ts'

export interface Totals {
  /** @param key identifies the filter */
  of(key: string, count: () => Promise<number>): Promise<number>
  /** Drops all cached totals and those being counted. Call it after every change that affects a total. */
  forget(): void
  /** The same for this process only, after a change by another replica. */
  forgetHere(): void
}

const MOST_KEYS = 500

/**
 * @param deps.ttlSeconds how long changes by another replica may stay unseen without `shared`; 0 caches nothing
 * @param deps.shared the cache of all replicas, used while it can be reached
 */
export function createTotals(deps: { clock: Clock; ttlSeconds: number; shared?: SharedCache | null }): Totals {
  const { clock, ttlSeconds, shared } = deps
  let known = new Map<string, { total: number; until: number }>()

  async function local(key: string, count: () => Promise<number>): Promise<number> {
    const now = clock.now().getTime()
    const found = known.get(key)
    if (found && found.until > now) return found.total
    const here = known
    const total = await count()
    if (here.size >= MOST_KEYS) here.clear()
    // After a `forget`, `here` is the old map, which nobody reads any more.
    here.set(key, { total, until: now + ttlSeconds * 1000 })
    return total
  }

  return {
    async of(key, count) {
      const total = ttlSeconds > 0 && shared ? await shared.of(key, count) : null
      return total ?? local(key, count)
    },
    forgetHere: () => void (known = new Map()),
    forget() {
      known = new Map()
      if (ttlSeconds > 0) shared?.forget()
    },
  }
}
