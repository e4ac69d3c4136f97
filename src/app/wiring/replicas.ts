// State that replicas share through Redis, and its replacement in a process without Redis.
import { createShared } from '../../kernel/shared.ts'
import type { Redis } from '../../store/redis/connection.ts'
import { createEvents, LOCAL_EVENTS } from '../../store/redis/events.ts'
import { createLiveLines, NO_LIVE_LINES } from '../../store/redis/live-lines.ts'
import { createRequestWindows } from '../../store/redis/request-windows.ts'
import { createSharedCache } from '../../store/redis/shared-cache.ts'
import type { Foundation } from './foundation.ts'
import type { Publishing } from './publishing.ts'

export type Replicas = Awaited<ReturnType<typeof createReplicas>>

/** Rate limits and the cache use `REDIS_URL`; job state and events use `JOB_STATE_REDIS_URL` when job state is in Redis. */
export async function createReplicas({ env, log, bus }: Foundation, { keys }: Publishing) {
  const ttlSeconds = env.manifestCacheTtl
  const jobsUrl = env.jobStateBackend === 'redis' ? env.jobStateRedisUrl : null
  const connections = new Map<string, Redis>()
  // A process without Redis does not load the client.
  const client = env.redisUrl !== null || jobsUrl !== null ? await import('../../store/redis/connection.ts') : null
  /** One connection for each address. */
  function connect(url: string | null): Redis | null {
    if (url === null || client === null) return null
    const known = connections.get(url)
    if (known) return known
    const carries = [
      ...(url === env.redisUrl ? ['rate limits', 'cache'] : []),
      ...(url === (jobsUrl ?? env.redisUrl) ? ['events'] : []),
      ...(url === jobsUrl ? ['job state'] : []),
    ]
    // All replicas of a service have the same first signing key; other services on the same Redis have another.
    const redis = client.createRedis({
      url,
      namespace: keys.firstFingerprint.slice(-16).toLowerCase(),
      carries,
      log,
    })
    connections.set(url, redis)
    return redis
  }

  const general = connect(env.redisUrl)
  const jobs = connect(jobsUrl)
  const eventsRedis = jobs ?? general
  const shared = eventsRedis && createEvents({ redis: eventsRedis, log })
  const events = shared ?? LOCAL_EVENTS
  const live = jobs ? createLiveLines(jobs) : NO_LIVE_LINES
  const cache = general && ttlSeconds > 0 ? createSharedCache({ redis: general, name: 'totals', ttlSeconds }) : null

  // Many packages in one turn of the event loop make one message.
  const sendPackages = createShared(async () => events.send('packages'))
  bus.on('package', () => void sendPackages())

  const where = (isUp: boolean | undefined) => (isUp ? 'redis' : 'local')
  return {
    events,
    live,
    windows: general && createRequestWindows(general),
    cache,
    /** Where each kind of state is kept at the moment, for the health report. */
    state() {
      const lines = where(live.areUp())
      const [scan, install, mirror, sync, logs] = [lines, lines, lines, lines, lines]
      return {
        jobState: { scan, install, mirror, sync, sse: where(shared?.areUp()), logs },
        cache: cache && general?.isUp() ? 'redis' : 'memory',
      }
    },
    /** whether every Redis answers; null where none is configured */
    isUp: () => (connections.size === 0 ? null : [...connections.values()].every((redis) => redis.isUp())),
    start() {
      for (const redis of connections.values()) redis.start()
    },
    close() {
      shared?.close()
      for (const redis of connections.values()) redis.close()
    },
  }
}
