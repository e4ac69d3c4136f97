// When a request is retried, and how long all requests wait before.
import { localProblem, type Problem, type Result } from './problem.ts'

/** Tries after the first one. */
const RETRIES = 5
const FIRST_DELAY_MS = 1000
const LONGEST_DELAY_MS = 30_000
/** How long rate limits may delay one request. */
const PATIENCE_MS = 15 * 60_000

/** The API gives these answers before it does anything, so another try is safe for every request. */
const NOT_BEGUN = new Set([
  'passive_replica',
  'shutting_down',
  'overloaded',
  'scanner_unavailable',
  'storage_unavailable',
])
/** Another try would get the same answer. */
const LASTING = new Set(['scan_incomplete', 'webhook_not_configured'])

export interface Retry {
  problem: Problem
  delayMs: number
  /** 1 for the second try; tries that a rate limit refused are not counted */
  attempt: number
}

export interface AttemptDeps {
  pace: Pace
  random(): number
  onRetry?: ((retry: Retry) => void) | undefined
  /** After a 401: whether the next try has a credential that was not refused. Without this function there is no next try. */
  hasAnother?: (() => Promise<boolean>) | undefined
}

/**
 * @param attempt number of failed tries
 * @param repeatable whether the request may run twice: reads, uploads, because the server recognizes the same bytes, and those
 * with an `Idempotency-Key`
 * @returns ms to wait before the next try; null to give up
 */
export function delayBefore(problem: Problem, attempt: number, repeatable: boolean, random: number): number | null {
  const { code, status, retryAfterMs } = problem
  // Half of it is random, so that clients that failed together do not retry together.
  const backOff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt) * (0.5 + random / 2)
  if (status === 429) return (retryAfterMs ?? backOff) + random * 500
  if (attempt >= RETRIES || LASTING.has(code)) return null
  // The answer of the first try is lost, and the server still works on it.
  const isUnderWay = code === 'idempotency_in_progress'
  const passes =
    isUnderWay || code === 'network_error' || status === 502 || status === 503 || status === 504 || NOT_BEGUN.has(code)
  if (!passes || !(repeatable || NOT_BEGUN.has(code))) return null
  return Math.max(backOff, retryAfterMs ?? 0)
}

/** Runs the work until it succeeds or another try is useless. */
export async function attempts<T>(
  work: () => Promise<Result<T>>,
  { repeatable, signal }: { repeatable: boolean; signal: AbortSignal | undefined },
  { pace, random, onRetry, hasAnother }: AttemptDeps,
): Promise<Result<T>> {
  let waited = 0
  let isSecondCredential = false
  for (let attempt = 0; ;) {
    if (!(await pace.ready(signal))) return { ok: false, error: localProblem('aborted', 'interrupted') }
    const result = await work()
    if (result.ok || result.error.code === 'aborted') return result
    if (result.error.status === 401 && !isSecondCredential && (await hasAnother?.())) {
      isSecondCredential = true
      continue
    }
    const delayMs = delayBefore(result.error, attempt, repeatable, random())
    if (delayMs === null) return result
    const isLimited = result.error.status === 429
    if (isLimited) {
      if (waited + delayMs > PATIENCE_MS) return result
      waited += delayMs
      pace.hold(delayMs)
    } else attempt++
    onRetry?.({ problem: result.error, delayMs, attempt })
    if (!(await sleep(delayMs, signal))) return { ok: false, error: localProblem('aborted', 'interrupted') }
  }
}

/** One for each client: a rate limit on one request delays all others too. */
export interface Pace {
  hold(ms: number): void
  /** Resolves when requests may be sent; with false when the signal aborts first. */
  ready(signal?: AbortSignal): Promise<boolean>
}

export function createPace(now: () => number = Date.now): Pace {
  let until = 0
  return {
    hold(ms) {
      until = Math.max(until, now() + ms)
    },
    async ready(signal) {
      while (until > now()) if (!(await sleep(until - now(), signal))) return false
      return !signal?.aborted
    },
  }
}

/** @returns false when the signal ended it */
export function sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve(false)
      return
    }
    const timer = setTimeout(() => end(true), ms)
    const stop = () => end(false)
    const end = (slept: boolean) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      resolve(slept)
    }
    signal?.addEventListener('abort', stop)
  })
}
