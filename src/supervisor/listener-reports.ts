// What the processes that serve repositories report about themselves, gathered by their parent for the metrics of the API.
import type { Running } from './kept-process.ts'
import { askInTime } from './questions.ts'

/** What was counted at one port since the start of the process. */
export interface PortReport {
  /** by class of status: `2xx` */
  requests: Readonly<Record<string, number>>
  sentBytes: number
  /** requests that are being answered now */
  transfers: number
  /** requests refused because of a limit */
  refused: number
}

/** What a process that serves repositories says of itself. */
export interface ListenerReport {
  /** by the name of the port */
  ports: Readonly<Record<string, PortReport>>
  /** the longest time, in seconds, that the event loop was held since the last report */
  loopLagSeconds: number
  uptimeSeconds: number
  /** by kind, in bytes */
  memory: Readonly<Record<string, number>>
  /** null where the system does not tell */
  openFiles: number | null
}

/** One of the processes that serve repositories, as its parent knows it. */
export interface KnownListener {
  /** from 1 */
  number: number
  /** how often it ended by itself and was started again */
  restarts: number
  /** null when it does not run, or does not answer */
  report: ListenerReport | null
}

/** The only question of a parent to a listener, which answers with its own, and of the API to the parent, with all. */
export const REPORT = 'report'

/** How long a listener may take to answer, in ms. */
const LISTENER_MS = 1_000
/** The same for the parent, which asks all listeners at once. */
export const PARENT_MS = 2_000

export interface ListenerReports {
  /** Asks this process from when it is ready until it ends: with overlap, the one before it is asked until then. */
  follow(number: number, process: Pick<Running, 'ready' | 'exited'>, ask: () => Promise<unknown>): void
  countRestart(number: number): void
  /** Answers within `LISTENER_MS`. */
  all(): Promise<readonly KnownListener[]>
}

/** @param count how many listeners there are */
export function createListenerReports(count: number, limitMs: number = LISTENER_MS): ListenerReports {
  const asked = new Map<number, () => Promise<unknown>>()
  const restarts = new Map<number, number>()

  const reportOf = async (number: number): Promise<ListenerReport | null> => {
    try {
      return ((await asked.get(number)?.()) ?? null) as ListenerReport | null
    } catch {
      return null
    }
  }

  return {
    follow(number, process, ask) {
      const askThis = askInTime(ask, limitMs)
      void process.ready.then(() => asked.set(number, askThis))
      void process.exited.then(() => {
        if (asked.get(number) === askThis) asked.delete(number)
      })
    },
    countRestart: (number) => void restarts.set(number, (restarts.get(number) ?? 0) + 1),
    all: () =>
      Promise.all(
        Array.from({ length: count }, async (_, n) => ({
          number: n + 1,
          restarts: restarts.get(n + 1) ?? 0,
          report: await reportOf(n + 1),
        })),
      ),
  }
}
