// The exit code of a process that stops.
import type { Log } from '../kernel/log.ts'

/** Closes everything. @returns 0; 1 when that failed, which is logged */
export async function closed(close: () => Promise<void>, log: Log): Promise<number> {
  try {
    await close()
    return 0
  } catch (error) {
    log.fatal({ err: error }, 'could not stop cleanly')
    return 1
  }
}
