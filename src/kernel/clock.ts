// Time as a dependency, so that tests can stop it.

export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** ISO 8601 with the offset `+00:00`, as in every API answer (docs/api-decisions.md, section 1). */
export function isoTime(date: Date): string {
  return date.toISOString().replace('Z', '+00:00')
}

/** Like `isoTime`; null stays null. */
export function isoTimeOrNull(date: Date | null | undefined): string | null {
  return date ? isoTime(date) : null
}

/** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts before. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })
}
