// The counters of a repository listener. Each request costs a few additions, which cannot be measured.
import type { PortReport } from '../domain/listener-report.ts'

export interface Traffic {
  /** The answer to a request begins. */
  begin(): void
  /** The answer was sent completely, or the client disconnected. */
  end(status: number, bytes: number): void
  /** The data was no valid request, so `begin` was not called. */
  unreadable(status: number, bytes: number): void
  /** A request was refused because of a limit that its status does not show. */
  refuse(): void
  report(): PortReport
}

/** Statuses of a request that is too slow, or too long in one of its parts; a listener uses them for nothing else. */
const OF_LIMITS = new Set([408, 413, 414, 431])

export function createTraffic(): Traffic {
  /** by the first digit of the status */
  const requests = [0, 0, 0, 0, 0, 0]
  let sentBytes = 0
  let transfers = 0
  let refused = 0

  const count = (status: number, bytes: number): void => {
    const digit = Math.trunc(status / 100)
    requests[digit] = (requests[digit] ?? 0) + 1
    sentBytes += bytes
    if (digit === 4 && OF_LIMITS.has(status)) refused++
  }

  return {
    begin() {
      transfers++
    },
    end(status, bytes) {
      transfers--
      count(status, bytes)
    },
    unreadable: count,
    refuse() {
      refused++
    },
    report: () => ({
      requests: Object.fromEntries([2, 3, 4, 5].map((digit) => [`${digit}xx`, requests[digit] ?? 0])),
      sentBytes,
      transfers,
      refused,
    }),
  }
}
