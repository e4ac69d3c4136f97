// Numbers that replicas share: kept for some seconds, or until something that they count changes.
import { createHash, randomUUID } from 'node:crypto'
import { createShared } from '../../kernel/shared.ts'
import type { Redis } from './connection.ts'

export interface SharedCache {
  /**
   * The cached value, or the result of `make`. A value made before a `forget` is never stored after it.
   * @returns null while Redis is unreachable; `make` is then not called
   */
  of(name: string, make: () => Promise<number>): Promise<number | null>
  /** Drops all values, in every replica. Call it after every change that affects a value. */
  forget(): void
  /** Resolves when all replicas that reach Redis have lost the values dropped so far; within a second or so. */
  settled(): Promise<void>
}

const MOST_FIELDS = 500

/** The hash of the values has the field `made`: a token that changes with each `forget`. */
const READ = `
local made = redis.call('HGET', KEYS[1], 'made')
if not made then
  made = ARGV[2]
  redis.call('HSET', KEYS[1], 'made', made)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return {made, redis.call('HGET', KEYS[1], ARGV[1])}`

const WRITE = `
if redis.call('HGET', KEYS[1], 'made') ~= ARGV[2] then return 0 end
if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[4]) then return 0 end
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])`

export function createSharedCache(deps: { redis: Redis; name: string; ttlSeconds: number }): SharedCache {
  const { redis } = deps
  const key = redis.key('cache', deps.name)
  const ttlMs = deps.ttlSeconds * 1000
  /** `forget` calls that Redis has not confirmed. Until then this replica uses no cached value. */
  let unconfirmed = 0
  let last: Promise<void> = Promise.resolve()
  /** Redis did not get a `forget`: it is repeated before anything is read. */
  let missed = false

  /** Changes in one turn of the event loop share a command. */
  const drop = createShared(async () => {
    try {
      await redis.run((client) => client.del(key))
      missed = false
    } catch {
      missed = true
    }
  })

  function forget(): void {
    unconfirmed++
    last = drop().finally(() => unconfirmed--)
  }

  // After changes while Redis was away: when it is back, drops the values that other replicas cached meanwhile.
  redis.onCheck(() => {
    if (missed) forget()
  })

  return {
    async of(name, make) {
      const field = createHash('sha256').update(name).digest('hex')
      if (!redis.isUp() || missed || unconfirmed > 0) return null
      const read = await redis.run((client) => client.eval(READ, 1, key, field, randomUUID(), ttlMs)).catch(() => null)
      if (!Array.isArray(read) || typeof read[0] !== 'string') return null
      const [made, known] = read as [string, unknown]
      if (typeof known === 'string' && /^\d{1,15}$/.test(known)) return Number(known)
      const value = await make()
      await redis.run((client) => client.eval(WRITE, 1, key, field, made, value, MOST_FIELDS)).catch(() => {})
      return value
    },
    forget,
    settled: () => last,
  }
}
