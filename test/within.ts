// Limits on the time that work takes, in processor time: a machine that stalls makes nothing fail.

/**
 * Runs the work once. The limit guards against quadratic time, so it is far above the honest time.
 *
 * @param limitMs processor time of this process, in milliseconds
 * @returns what the work returned
 * @throws what it throws; an error with the time when it took more
 */
export async function within<T>(limitMs: number, work: () => T | Promise<T>, what = 'the work'): Promise<T> {
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  const ms = Math.round((user + system) / 1000)
  if (ms > limitMs) throw new Error(`${what} took ${ms} ms of processor time; at most ${limitMs} are allowed`)
  return result
}
