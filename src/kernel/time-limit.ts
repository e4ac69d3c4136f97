// A time limit for another process that a pause of the machine does not use up.

/** Time between two checks of the clock. A pause of the machine counts at most this much. */
const STEP_MS = 1000

/**
 * Runs `late` once `ms` milliseconds have passed in which this process ran. After a suspended machine or a stopped process
 * continues, its timers are due at once, before it reads the answers that arrived meanwhile: so each step counts at
 * most its own length.
 * @returns a function that ends the limit
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
