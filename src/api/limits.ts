// Rate limits: a sliding window for each bucket, in memory, with the figures of the decisions, section 1.
import type { Caller } from '../domain/caller.ts'
import { Problem } from '../domain/problem.ts'
import { ROLE_LIMITS } from '../domain/roles.ts'
import { limitKey } from '../kernel/client-address.ts'
import type { Clock } from '../kernel/clock.ts'
import type { LimitName, Route } from './route.ts'

const WINDOW_MS = 60_000
/** Most buckets kept. The least recently used are dropped first. */
const MOST_BUCKETS = 50_000

/** Requests per minute, and whether they are counted by address or by principal. */
const FIGURES: Record<Exclude<LimitName, 'none'>, { perMinute: number; per: 'address' | 'principal' }> = {
  login: { perMinute: 10, per: 'address' },
  credentials: { perMinute: 10, per: 'address' },
  webhook: { perMinute: 60, per: 'address' },
  upload: { perMinute: 20, per: 'principal' },
  import: { perMinute: 10, per: 'principal' },
  distributions: { perMinute: 5, per: 'principal' },
  stream: { perMinute: 30, per: 'principal' },
}
const ANONYMOUS_PER_MINUTE = 60

export interface RateLimiter {
  /** Counts a request. @throws Problem('rate_limited') with the seconds until the next one is allowed */
  take(route: Pick<Route, 'method' | 'limit'>, caller: Caller | null, clientAddress: string): void
}

interface Bucket {
  /** times of the requests admitted in the last minute, oldest first */
  times: number[]
}

/** @param factor multiplies every figure, for load tests */
export function createRateLimiter(clock: Clock, factor = 1): RateLimiter {
  const buckets = new Map<string, Bucket>()

  function admit(key: string, perMinute: number): void {
    const limit = Math.max(1, Math.floor(perMinute * factor))
    const now = clock.now().getTime()
    const bucket = buckets.get(key) ?? { times: [] }
    // Buckets are kept in order of last use: the first one is dropped first.
    buckets.delete(key)
    buckets.set(key, bucket)
    let expired = 0
    while (expired < bucket.times.length && (bucket.times[expired] as number) <= now - WINDOW_MS) expired++
    bucket.times.splice(0, expired)
    if (bucket.times.length >= limit) {
      const seconds = Math.max(1, Math.ceil(((bucket.times[0] as number) + WINDOW_MS - now) / 1000))
      throw new Problem(
        'rate_limited',
        `too many requests: ${limit} per minute are allowed here`,
        { limit, retry_after: seconds },
        { retryAfterSeconds: seconds },
      )
    }
    bucket.times.push(now)
    if (buckets.size > MOST_BUCKETS)
      for (const oldest of buckets.keys()) if (buckets.size > MOST_BUCKETS) buckets.delete(oldest)
  }

  return {
    take(route, caller, clientAddress) {
      if (route.limit === 'none') return
      const address = limitKey(clientAddress)
      if (route.limit) {
        const { perMinute, per } = FIGURES[route.limit]
        admit(`${route.limit} ${per === 'address' ? address : (caller?.principal ?? address)}`, perMinute)
      } else if (caller) {
        const kind = route.method === 'GET' ? 'reads' : 'writes'
        admit(`${kind} ${caller.principal}`, ROLE_LIMITS[caller.role][kind])
      } else admit(`anonymous ${address}`, ANONYMOUS_PER_MINUTE)
    },
  }
}
