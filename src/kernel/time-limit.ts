// A limit of time for another process that a pause of the machine does not use up.

/** Of one look at the clock. A paused machine takes at most so much of a limit. */
const STEP_MS = 1000

/**
 * Runs `late` once `ms` milliseconds have passed in which this process ran. A machine that was suspended, or a process
 * that was stopped, finds its timers due at once, before it reads the answers that came meanwhile: each step counts at
 * most for its own length.
 * @returns ends the limit
 */
export function limitTime(ms: number, late: () => void): () => void {
  const step = Math.min(STEP_MS, ms / 2)
  let left = ms
  let timer: NodeJS.Timeout
  const look = () => {
    const next = Math.min(step, left)
    timer = setTimeout(() => {
      left -= next
      if (left > 0) look()
      else late()
    }, next)
  }
  look()
  return () => clearTimeout(timer)
}
