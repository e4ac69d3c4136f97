// How a process learns that it is to stop.

/**
 * Resolves with the name of the first signal to stop, or with why the process must stop by itself. A child is stopped by its parent, in order: it ignores SIGINT, which a
 * terminal sends to both, and ends immediately when the parent has died, because nobody would start it again.
 */
export function stopRequested({ isChild, fatal }: { isChild: boolean; fatal: Promise<void> }): Promise<string> {
  return new Promise((resolve) => {
    void fatal.then(() => resolve('an uncaught error'))
    process.on('SIGTERM', () => resolve('SIGTERM'))
    process.on('SIGINT', () => {
      if (!isChild) resolve('SIGINT')
    })
    if (isChild) process.once('disconnect', () => process.exit(1))
  })
}
