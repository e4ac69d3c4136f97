// How a process learns that it must stop.

/**
 * Resolves with the name of the first signal to stop, or with the reason why the process must stop by itself. The parent stops
 * its children in order: a child ignores SIGINT, which a terminal sends to both, and ends immediately when the parent has died,
 * because nobody would start it again. SIGHUP asks for the installed code: a process without a parent ends in order, for
 * whoever runs it to start it again, and the parent replaces its children.
 */
export function stopRequested({
  isChild,
  isParent = false,
  fatal,
}: {
  isChild: boolean
  isParent?: boolean
  fatal: Promise<void>
}): Promise<string> {
  return new Promise((resolve) => {
    void fatal.then(() => resolve('an uncaught error'))
    process.on('SIGTERM', () => resolve('SIGTERM'))
    process.on('SIGINT', () => {
      if (!isChild) resolve('SIGINT')
    })
    if (!isChild && !isParent) process.on('SIGHUP', () => resolve('SIGHUP'))
    if (isChild) process.once('disconnect', () => process.exit(1))
  })
}
