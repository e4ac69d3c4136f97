// When a request is retried.
import { expect, test } from 'vitest'
import { createPace, delayBefore } from './attempts.ts'
import { localProblem, retryAfterOf } from './problem.ts'

const REPEATABLE = true
const ONCE = false

test.each([
  ['a broken connection, of a read', 'network_error', null, null, 0, REPEATABLE, 750],
  ['the same, for the third time', 'network_error', null, null, 2, REPEATABLE, 3000],
  ['the same, after five tries', 'network_error', null, null, 5, REPEATABLE, null],
  ['a broken connection, of what may have been done', 'network_error', null, null, 0, ONCE, null],
  ['a proxy without its server', 'unexpected_answer', 502, null, 0, REPEATABLE, 750],
  ['the same, of what may have been done', 'unexpected_answer', 502, null, 0, ONCE, null],
  ['a timeout at the server', 'timeout', 504, null, 0, REPEATABLE, 750],
  ['a server that stops, which began nothing', 'shutting_down', 503, 5000, 0, ONCE, 5000],
  ['a failure inside a stream', 'scanner_unavailable', null, null, 1, REPEATABLE, 1500],
  ['a rate limit', 'rate_limited', 429, 7000, 0, ONCE, 7250],
  ['a rate limit after many tries', 'rate_limited', 429, 7000, 99, ONCE, 7250],
  ['a scan that ends the same each time', 'scan_incomplete', 503, 30_000, 0, REPEATABLE, null],
  ['a certificate', 'certificate_error', null, null, 0, REPEATABLE, null],
  ['a refusal', 'duplicate_conflict', 409, null, 0, REPEATABLE, null],
  ['a request that is still carried out', 'idempotency_in_progress', 409, null, 0, REPEATABLE, 750],
  ['a fault of the server', 'internal_error', 500, null, 0, REPEATABLE, null],
])('%s', (_, code, status, retryAfterMs, attempt, repeatable, delay) => {
  const problem = { ...localProblem(code, '', status), retryAfterMs }
  expect(delayBefore(problem, attempt, repeatable, 0.5)).toBe(delay)
})

test('clients that failed together do not come back together', () => {
  const at = (random: number) => delayBefore(localProblem('network_error', ''), 1, true, random)
  expect([at(0), at(1)]).toEqual([1000, 2000])
})

test.each([
  ['12', 12_000],
  ['Mon, 23 Nov 2026 10:00:30 GMT', 30_000],
  ['Mon, 23 Nov 2026 09:00:00 GMT', 0],
  ['soon', null],
  ['', null],
])('Retry-After: %s', (text, ms) => {
  expect(retryAfterOf(new Headers({ 'retry-after': text }), Date.UTC(2026, 10, 23, 10))).toBe(ms)
})

test('a rate limit that one request meets holds back all of them, until the signal ends the wait', async () => {
  const pace = createPace(() => 0)
  expect(await pace.ready()).toBe(true)
  pace.hold(60_000)
  const stop = new AbortController()
  const ready = pace.ready(stop.signal)
  stop.abort()
  expect(await ready).toBe(false)
})
