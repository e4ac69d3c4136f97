// When a process that ended is started again, and when that is given up. Pure.

export interface RestartRules {
  /** the pause before the first restart, in ms; it doubles with each further failure */
  firstPauseMs: number
  longestPauseMs: number
  /** gives up at this many failures in a row; null never gives up */
  giveUpAt: number | null
}

/** A process that ran this long, in ms, had started well: its end is the first failure of a new row. */
export const STABLE_MS = 60_000

/**
 * @param failures in a row, before this one
 * @param ranMs how long the process was ready; NaN when it never was
 * @returns the failures with this one, and the pause in ms; null to give up
 */
export function afterEnd(
  { firstPauseMs, longestPauseMs, giveUpAt }: RestartRules,
  failures: number,
  ranMs: number,
): { failures: number; pauseMs: number | null } {
  const count = ranMs >= STABLE_MS ? 1 : failures + 1
  if (giveUpAt !== null && count >= giveUpAt) return { failures: count, pauseMs: null }
  return { failures: count, pauseMs: Math.min(longestPauseMs, firstPauseMs * 2 ** (count - 1)) }
}
