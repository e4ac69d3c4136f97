// Gathers, in the parent, the reports of the processes that serve repositories.
import type { KnownListener, ListenerReport } from '../../domain/listener-report.ts'
import type { Running } from './kept-process.ts'
import { askInTime } from './questions.ts'

/** The question of the parent to a listener, which answers with its own report, and of the API to the parent, which sends all. */
export const REPORT = 'report'

/** How long a listener may take to answer, in ms. */
const LISTENER_MS = 1_000
/** The same for the parent, which asks all listeners at once. */
export const PARENT_MS = 2_000

export interface ListenerReports {
  /** Asks this process from when it is ready until it ends. With overlap, the previous process is asked until then. */
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
