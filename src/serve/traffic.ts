// What a repository listener counts of its requests. Each costs a few additions, so that nobody can measure it.
import type { PortReport } from '../domain/listener-report.ts'

export interface Traffic {
  /** A request is answered from now on. */
  begin(): void
  /** Its answer has left, or its client has gone. */
  end(status: number, bytes: number): void
  /** What was no request that could be answered: it never began. */
  unreadable(status: number, bytes: number): void
  /** A request was refused because of a limit that its status does not tell. */
  refuse(): void
  report(): PortReport
}

/** Too slow, too long in one of its parts: statuses that a listener gives for nothing else. */
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
