import { expect, test } from 'vitest'
import type { Caller } from '../../domain/caller.ts'
import { isProblem } from '../../domain/problem.ts'
import { ROLES, type Role } from '../../domain/roles.ts'
import { createRateLimiter } from './limits.ts'

function createClock() {
  let ms = Date.parse('2026-01-01T00:00:00Z')
  return { now: () => new Date(ms), advance: (by: number) => void (ms += by) }
}

const callerOf = (role: Role, principal = `user:${role}`): Caller => ({
  kind: 'session',
  name: role,
  role,
  ownerId: 1,
  credentialId: 'c',
  principal,
})

/** How many of `tries` requests are admitted before the first refusal. */
async function admitted(take: () => Promise<void>, tries = 5000): Promise<number> {
  for (let count = 0; count < tries; count++) {
    try {
      await take()
    } catch (error) {
      if (isProblem(error, 'rate_limited')) return count
      throw error
    }
  }
  return tries
}

test.each([
  ['admin', 2000, 500],
  ['maintainer', 1000, 200],
  ['uploader', 300, 30],
  ['auditor', 500, 30],
  ['reader', 200, 30],
] as const)('%s has %i reads and %i writes a minute', async (role, reads, writes) => {
  const limiter = createRateLimiter(createClock())
  expect(await admitted(() => limiter.take({ method: 'GET' }, callerOf(role), '192.0.2.1'))).toBe(reads)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    expect(await admitted(() => limiter.take({ method }, callerOf(role), '192.0.2.1'))).toBe(
      method === 'POST' ? writes : 0,
    )
  }
})

test.each([
  [0.5, 30],
  [2, 120],
  [0.001, 1],
])('with the factor %d an anonymous caller has %i requests, always at least one', async (factor, most) => {
  const limiter = createRateLimiter(createClock(), factor)
  expect(await admitted(() => limiter.take({ method: 'GET' }, null, '192.0.2.1'))).toBe(most)
})

test('no span of a minute contains more requests than the limit', async () => {
  const clock = createClock()
  const limiter = createRateLimiter(clock)
  const times: number[] = []
  for (let step = 0; step < 2000; step++) {
    clock.advance((step * 7919) % 3000)
    try {
      await limiter.take({ method: 'POST', limit: 'distributions' }, callerOf('admin'), '192.0.2.1')
      times.push(clock.now().getTime())
    } catch (error) {
      expect(isProblem(error, 'rate_limited')).toBe(true)
    }
  }
  expect(times.length).toBeGreaterThan(100)
  for (const [at, time] of times.entries()) expect((times[at + 5] ?? Infinity) - time).toBeGreaterThanOrEqual(60_000)
})

test('an attacker with many addresses fills a bounded number of buckets and does not evict one in use', async () => {
  const limiter = createRateLimiter(createClock())
  const attack = async (count: number) => {
    for (let n = 0; n < count; n++) await limiter.take({ method: 'GET' }, null, `address ${n}`)
  }
  const victim = () => limiter.take({ method: 'POST', limit: 'login' }, null, '192.0.2.1')
  expect(await admitted(victim)).toBe(10)
  await attack(40_000)
  expect(await admitted(victim)).toBe(0)
  await attack(40_000)
  expect(await admitted(victim)).toBe(0)
})

test('a limit per principal counts anonymous callers by address', async () => {
  const limiter = createRateLimiter(createClock())
  expect(await admitted(() => limiter.take({ method: 'POST', limit: 'upload' }, null, '192.0.2.1'))).toBe(20)
  expect(await admitted(() => limiter.take({ method: 'POST', limit: 'upload' }, null, '192.0.2.2'))).toBe(20)
  for (const role of ROLES)
    expect(await admitted(() => limiter.take({ method: 'POST', limit: 'upload' }, callerOf(role), '192.0.2.1'))).toBe(
      20,
    )
})

test('shared windows decide while they work; without them the replica goes on from its own counts', async () => {
  let answer: number | null = 0
  const buckets: string[] = []
  const limiter = createRateLimiter(createClock(), 1, {
    take: (bucket, limit) => {
      buckets.push(`${bucket} ${limit}`)
      return Promise.resolve(answer)
    },
  })
  const login = () => limiter.take({ method: 'POST', limit: 'login' }, null, '192.0.2.1')
  for (let n = 0; n < 12; n++) await login()
  expect(new Set(buckets)).toEqual(new Set(['login 192.0.2.1 10']))
  answer = 4_200
  await expect(login()).rejects.toMatchObject({ code: 'rate_limited', extra: { limit: 10, retry_after: 5 } })
  answer = null
  await expect(login()).rejects.toMatchObject({ code: 'rate_limited', extra: { limit: 10, retry_after: 60 } })
})
