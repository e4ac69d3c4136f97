// Waits for people's decisions about held packages: follows the events of the service, and also polls.
import type { Client, Problem } from 'gatehouse-client'

/** A record whose decision is awaited. */
export interface Held {
  package: string
  version: string
  arch: string
  distribution: string
}

export type Decided =
  { status: string } | { status: null; why: 'deleted' | 'time' | 'interrupted' } | { status: null; problem: Problem }

export interface Waiter {
  /** Resolves with the status when it is no longer `pending_review`. */
  decision(held: Held): Promise<Decided>
  close(): void
}

/** How often it polls: without events, and also with them, because a stream can be silent by fault. */
const LOOK_MS = 15_000

/** @param deadline ms since 1970 */
export function createWaiter(client: Client, deadline: number, signal: AbortSignal): Waiter {
  const ended = new AbortController()
  const stop = () => ended.abort()
  signal.addEventListener('abort', stop)
  const timer = setTimeout(stop, Math.min(deadline - Date.now(), 2 ** 31 - 1))
  const wakers = new Map<() => void, Held>()
  let follows = false

  // One stream for all records, because a person or token may open only five at a time.
  async function follow(): Promise<void> {
    for await (const result of client.events('/dashboard/events', { signal: ended.signal })) {
      if (!result.ok) continue
      const { event, data } = result.data
      const about = data as Partial<Held>
      for (const [wake, held] of wakers) {
        const isIt =
          about.package === held.package && about.version === held.version && about.distribution === held.distribution
        if (event === 'snapshot' || event === 'dropped' || isIt) wake()
      }
    }
  }

  /** Resolves at an event about the record, or when it is time to poll. */
  function news(held: Held): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(look)
        ended.signal.removeEventListener('abort', wake)
        wakers.delete(wake)
        resolve()
      }
      const look = setTimeout(wake, LOOK_MS)
      ended.signal.addEventListener('abort', wake)
      wakers.set(wake, held)
    })
  }

  async function statusOf({ package: name, version, distribution, arch }: Held): Promise<Decided> {
    const params = { name, version }
    const result = await client.call('GET /security/packages/{name}/{version}/cve', {
      params,
      query: { distribution, arch },
      signal: ended.signal,
    })
    if (!result.ok)
      return result.error.code === 'not_found'
        ? { status: null, why: 'deleted' }
        : { status: null, problem: result.error }
    const record = result.data.records.find((one) => one.distribution === distribution && one.arch === arch)
    return record ? { status: record.status } : { status: null, why: 'deleted' }
  }

  return {
    async decision(held) {
      if (!follows) {
        follows = true
        void follow()
      }
      let unread: Problem | null = null
      for (;;) {
        if (signal.aborted) return { status: null, why: 'interrupted' }
        if (ended.signal.aborted) return unread ? { status: null, problem: unread } : { status: null, why: 'time' }
        // Starts to wait before it polls, so that no event in between is missed.
        const next = news(held)
        const found = await statusOf(held)
        const problem = 'problem' in found ? found.problem : null
        if (problem?.code === 'aborted') continue
        unread = problem
        // The service may be away longer than a request is retried, for example for minutes during an upgrade. It will come back.
        if (found.status !== 'pending_review' && !(problem && passes(problem))) {
          for (const [wake, one] of wakers) if (one === held) wake()
          return found
        }
        await next
      }
    },
    close() {
      signal.removeEventListener('abort', stop)
      clearTimeout(timer)
      ended.abort()
    },
  }
}

/** Whether the next poll may succeed. */
const passes = ({ status, code }: Problem) => code === 'network_error' || status === 429 || (status ?? 0) >= 500
