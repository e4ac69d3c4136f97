// When a process that ended is restarted, and when restarting is given up. Pure.

export interface RestartRules {
  /** the pause before the first restart, in ms; it doubles with each further failure */
  firstPauseMs: number
  longestPauseMs: number
  /** gives up at this many failures in a row; null never gives up */
  giveUpAt: number | null
}

/** After this long, in ms, a process counts as started: its end is the first failure of a new row. */
export const STABLE_MS = 60_000

/**
 * Exit code of a process that cannot start until its database is available. `EX_TEMPFAIL` of sysexits.h, which Node itself
 * never exits with. The process is restarted without end.
 */
export const WAITS = 75

/** The longest pause of a process that waits, in ms: a start costs about a second of a processor. */
const LONGEST_WAIT_MS = 5_000

/** What happened in a row. */
export interface Row {
  failures: number
  /** exits with `WAITS`; they are not failures */
  waits: number
}

/**
 * @param row before this end
 * @param ranMs how long the process was ready; NaN when it never was
 * @returns the row with this end, and the pause in ms; null to give up
 */
export function afterEnd(
  { firstPauseMs, longestPauseMs, giveUpAt }: RestartRules,
  { failures, waits }: Row,
  { code, ranMs }: { code: number; ranMs: number },
): Row & { pauseMs: number | null } {
  if (code === WAITS)
    return { failures, waits: waits + 1, pauseMs: Math.min(LONGEST_WAIT_MS, firstPauseMs * 2 ** waits) }
  const count = ranMs >= STABLE_MS ? 1 : failures + 1
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (count - 1))
  return { failures: count, waits: 0, pauseMs: giveUpAt !== null && count >= giveUpAt ? null : pauseMs }
}
