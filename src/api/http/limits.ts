// Rate limits: a sliding window for each bucket, with the figures of the decisions, section 1.
// Not rate-limiter-flexible 11.4.0: its windows do not slide, so with a limit of 20 it let 39 requests pass within 0.2 s around
// the edge of two windows, and its memory has no bound (200 MB for 500,000 keys).
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../domain/problem.ts'
import { ROLE_LIMITS } from '../../domain/roles.ts'
import { limitKey } from '../../kernel/client-address.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { RequestWindows } from '../../store/redis/request-windows.ts'
import type { LimitName, Route } from './route.ts'

const WINDOW_MS = 60_000
/** Most buckets kept. The least recently used are dropped first. */
const MOST_BUCKETS = 50_000

/** Requests per minute, and whether they are counted by address or by principal. */
const FIGURES: Record<Exclude<LimitName, 'none' | 'reads'>, { perMinute: number; per: 'address' | 'principal' }> = {
  login: { perMinute: 10, per: 'address' },
  credentials: { perMinute: 10, per: 'address' },
  webhook: { perMinute: 60, per: 'address' },
  upload: { perMinute: 20, per: 'principal' },
  // A release has a file for each system, and clients do not try again after 429.
  publish: { perMinute: 300, per: 'principal' },
  // A fleet that boots behind one address; the token says how many it enrols.
  enrol: { perMinute: 600, per: 'address' },
  import: { perMinute: 10, per: 'principal' },
  distributions: { perMinute: 5, per: 'principal' },
  stream: { perMinute: 30, per: 'principal' },
}
const ANONYMOUS_PER_MINUTE = 60

/** The limit of a route as a sentence. */
export function limitText({ method, access, limit }: Pick<Route, 'method' | 'access' | 'limit'>): string {
  if (limit === 'none') return 'It has no rate limit.'
  if (limit && limit !== 'reads')
    return `At most ${FIGURES[limit].perMinute} requests per minute and ${FIGURES[limit].per === 'address' ? 'address' : 'caller'}.`
  if (access === 'public')
    return `At most ${ANONYMOUS_PER_MINUTE} requests per minute and address without a credential.`
  return `It counts as a ${limit === 'reads' || method === 'GET' ? 'read' : 'write'} of the role's rate limit.`
}

export interface RateLimiter {
  /** Counts a request. @throws Problem('rate_limited') with the seconds until the next one is allowed */
  take(route: Pick<Route, 'method' | 'limit'>, caller: Caller | null, clientAddress: string): Promise<void>
}

/**
 * @param factor multiplies every figure, for load tests
 * @param shared counts the requests of all replicas; while it cannot, each replica counts its own, earlier ones included
 */
export function createRateLimiter(clock: Clock, factor = 1, shared: RequestWindows | null = null): RateLimiter {
  const local = createLocalWindows(clock)

  async function admit(key: string, perMinute: number): Promise<void> {
    const limit = Math.max(1, Math.floor(perMinute * factor))
    const left = shared ? await shared.take(key, limit, WINDOW_MS) : null
    if (left === 0) local.add(key, limit)
    const waitMs = left ?? local.take(key, limit)
    if (waitMs === 0) return
    const seconds = Math.max(1, Math.ceil(waitMs / 1000))
    throw new Problem(
      'rate_limited',
      `too many requests: ${limit} per minute are allowed here`,
      { limit, retry_after: seconds },
      { retryAfterSeconds: seconds },
    )
  }

  return {
    async take(route, caller, clientAddress) {
      if (route.limit === 'none') return
      const address = limitKey(clientAddress)
      if (route.limit && route.limit !== 'reads') {
        const { perMinute, per } = FIGURES[route.limit]
        await admit(`${route.limit} ${per === 'address' ? address : (caller?.principal ?? address)}`, perMinute)
      } else if (caller) {
        const kind = route.method === 'GET' || route.limit === 'reads' ? 'reads' : 'writes'
        await admit(`${kind} ${caller.principal}`, ROLE_LIMITS[caller.role][kind])
      } else await admit(`anonymous ${address}`, ANONYMOUS_PER_MINUTE)
    },
  }
}

/** The windows of this process. */
function createLocalWindows(clock: Clock) {
  /** times of the requests admitted in the last minute by bucket, oldest first */
  const buckets = new Map<string, number[]>()

  function timesOf(key: string, now: number): number[] {
    const times = buckets.get(key) ?? []
    // Buckets are kept in order of last use: the first one is dropped first.
    buckets.delete(key)
    buckets.set(key, times)
    let expired = 0
    while (expired < times.length && (times[expired] as number) <= now - WINDOW_MS) expired++
    times.splice(0, expired)
    if (buckets.size > MOST_BUCKETS)
      for (const oldest of buckets.keys()) if (buckets.size > MOST_BUCKETS) buckets.delete(oldest)
    return times
  }

  return {
    /** Counts a request unless the window is full. @returns 0 when it is counted, else the milliseconds to wait */
    take(key: string, limit: number): number {
      const now = clock.now().getTime()
      const times = timesOf(key, now)
      if (times.length >= limit) return Math.max(1, (times[0] as number) + WINDOW_MS - now)
      times.push(now)
      return 0
    },
    /** Counts a request that was admitted elsewhere. */
    add(key: string, limit: number): void {
      const now = clock.now().getTime()
      const times = timesOf(key, now)
      if (times.length < limit) times.push(now)
    },
  }
}
