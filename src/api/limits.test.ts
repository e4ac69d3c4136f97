import { expect, test } from 'vitest'
import type { Caller } from '../domain/caller.ts'
import { isProblem } from '../domain/problem.ts'
import { ROLES, type Role } from '../domain/roles.ts'
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
function admitted(take: () => void, tries = 5000): number {
  for (let count = 0; count < tries; count++) {
    try {
      take()
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
] as const)('%s has %i reads and %i writes a minute', (role, reads, writes) => {
  const limiter = createRateLimiter(createClock())
  expect(admitted(() => limiter.take({ method: 'GET' }, callerOf(role), '192.0.2.1'))).toBe(reads)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    expect(admitted(() => limiter.take({ method }, callerOf(role), '192.0.2.1'))).toBe(method === 'POST' ? writes : 0)
  }
})

test.each([
  [0.5, 30],
  [2, 120],
  [0.001, 1],
])('with the factor %d an anonymous caller has %i requests, always at least one', (factor, most) => {
  const limiter = createRateLimiter(createClock(), factor)
  expect(admitted(() => limiter.take({ method: 'GET' }, null, '192.0.2.1'))).toBe(most)
})

test('no span of a minute contains more requests than the limit', () => {
  const clock = createClock()
  const limiter = createRateLimiter(clock)
  const times: number[] = []
  for (let step = 0; step < 2000; step++) {
    clock.advance((step * 7919) % 3000)
    try {
      limiter.take({ method: 'POST', limit: 'distributions' }, callerOf('admin'), '192.0.2.1')
      times.push(clock.now().getTime())
    } catch (error) {
      expect(isProblem(error, 'rate_limited')).toBe(true)
    }
  }
  expect(times.length).toBeGreaterThan(100)
  for (const [at, time] of times.entries()) expect((times[at + 5] ?? Infinity) - time).toBeGreaterThanOrEqual(60_000)
})

test('an attacker with many addresses fills a bounded number of buckets and does not evict one in use', () => {
  const limiter = createRateLimiter(createClock())
  const attack = (count: number) => {
    for (let n = 0; n < count; n++) limiter.take({ method: 'GET' }, null, `address ${n}`)
  }
  const victim = () => limiter.take({ method: 'POST', limit: 'login' }, null, '192.0.2.1')
  expect(admitted(victim)).toBe(10)
  attack(40_000)
  expect(admitted(victim)).toBe(0)
  attack(40_000)
  expect(admitted(victim)).toBe(0)
})

test('a limit per principal counts anonymous callers by address', () => {
  const limiter = createRateLimiter(createClock())
  expect(admitted(() => limiter.take({ method: 'POST', limit: 'upload' }, null, '192.0.2.1'))).toBe(20)
  expect(admitted(() => limiter.take({ method: 'POST', limit: 'upload' }, null, '192.0.2.2'))).toBe(20)
  for (const role of ROLES)
    expect(admitted(() => limiter.take({ method: 'POST', limit: 'upload' }, callerOf(role), '192.0.2.1'))).toBe(20)
})
