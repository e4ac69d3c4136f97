// Counts requests of all replicas in sliding windows, with one round trip for each request.
import type { Redis } from './connection.ts'

export interface RequestWindows {
  /**
   * Counts a request unless the window is full.
   * @returns 0 when it was counted, else the milliseconds until the next request is allowed; null while Redis is unreachable
   */
  take(bucket: string, limit: number, windowMs: number): Promise<number | null>
}

/** A list of the times of the requests in the window, by the clock of Redis, which all replicas share. */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local oldest = redis.call('LINDEX', KEYS[1], 0)
while oldest and tonumber(oldest) <= now - window do
  redis.call('LPOP', KEYS[1])
  oldest = redis.call('LINDEX', KEYS[1], 0)
end
if redis.call('LLEN', KEYS[1]) >= limit then return math.max(1, tonumber(oldest) + window - now) end
redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], window)
return 0`

export function createRequestWindows(redis: Redis): RequestWindows {
  return {
    async take(bucket, limit, windowMs) {
      if (!redis.isUp()) return null
      try {
        const left = await redis.run(async (client) => {
          const answer: unknown = await client.eval(TAKE, 1, redis.key('limit', bucket), limit, windowMs)
          if (typeof answer !== 'number' || answer < 0 || answer > windowMs) throw new Error('unexpected reply')
          return answer
        })
        return left
      } catch {
        return null
      }
    },
  }
}
