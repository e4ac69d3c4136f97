// Handles an uncaught error: it fails the request or task that it belongs to, or ends the process in order.
import type { Log } from './log.ts'
import { currentWork, type Work } from './work.ts'

/** Longer than a stopping process waits for its transfers, but shorter than an operator waits. */
const END_MS = 60_000

/** Number of errors, by what failed. */
export type UncaughtCounts = Readonly<Record<Work['kind'] | 'process', number>>

export interface Uncaught {
  /** Resolves when the process must stop, because an error belongs to no request or task that could fail instead. */
  readonly fatal: Promise<void>
  /** @returns the exit code of a process that would end with `code` */
  exitCode(code: number): number
  counts(): UncaughtCounts
}

/**
 * @param options.exit ends the process immediately: called when it has not ended `endMs` after a fatal error, because that
 *   error, or one in the shutdown, left something that never ends
 */
export function watchUncaught({
  log,
  endMs = END_MS,
  exit = (code) => process.exit(code),
}: {
  log: Log
  endMs?: number
  exit?: (code: number) => void
}): Uncaught {
  const counts = { request: 0, task: 0, process: 0 }
  let stop!: () => void
  const fatal = new Promise<void>((resolve) => (stop = resolve))

  const caught = (error: unknown, what: string): void => {
    const work = currentWork()
    if (work) {
      counts[work.kind]++
      log.error({ err: error, ...work.about() }, `${what}: the ${work.kind} fails`)
      work.fail(error)
      return
    }
    counts.process++
    if (counts.process > 1) {
      log.error({ err: error }, `${what} while the process ends`)
      return
    }
    log.fatal({ err: error }, `${what}: the process ends in order`)
    setTimeout(() => {
      log.fatal('the process did not end in order; it ends now')
      exit(1)
    }, endMs).unref()
    stop()
  }
  process.on('uncaughtException', (error) => caught(error, 'an uncaught exception'))
  process.on('unhandledRejection', (error) => caught(error, 'an unhandled rejection'))
  return {
    fatal,
    exitCode: (code) => (counts.process > 0 ? code || 1 : code),
    counts: () => ({ ...counts }),
  }
}
