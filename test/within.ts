// Limits on the time that work takes, in processor time, so that nothing fails on a machine that stalls.

/**
 * Runs the work once. The limit guards against quadratic time, so it is far above the normal time.
 *
 * @param limitMs processor time of this process, in milliseconds
 * @returns the result of the work
 * @throws the error of the work; an error with the time when it exceeded the limit
 */
export async function within<T>(limitMs: number, work: () => T | Promise<T>, what = 'the work'): Promise<T> {
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  const ms = Math.round((user + system) / 1000)
  if (ms > limitMs) throw new Error(`${what} took ${ms} ms of processor time; at most ${limitMs} are allowed`)
  return result
}
