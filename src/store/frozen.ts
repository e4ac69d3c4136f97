// Ends the connections to a server that has stopped answering. A frozen process or machine closes no socket, and its system
// still acknowledges sent data, so a statement would wait for its own limit: five minutes.
import { performance } from 'node:perf_hooks'
import pg from 'pg'

export interface FrozenOptions {
  /** after this time of a statement, the watch checks whether the server answers others; in milliseconds */
  overdueMs?: number
  /** how often the watch looks for such statements */
  everyMs?: number
  /** how long a new connection may take */
  probeMs?: number
}

/** Two in a row, because a process that was frozen itself finds its timers due before it reads an answer. */
const PROBES = 2

/** A connection whose statements are watched. */
export interface Watched {
  /** when the present statement was sent, by `performance.now()`; null without one */
  waitingSince: number | null
  cut(reason: Error): void
}

/**
 * Watches connections. A statement may take long: it is cut only when the server does not answer a new connection either.
 * With these limits this takes 18 s at most, and a request that needs another connection then waits 10 s for it.
 * @returns a function that ends the watch
 */
export function watchFrozen(
  connections: ReadonlySet<Watched>,
  connection: pg.ClientConfig,
  { overdueMs = 8_000, everyMs = 2_000, probeMs = 4_000 }: FrozenOptions = {},
): () => void {
  let isAsking = false
  const overdue = () =>
    [...connections].filter(({ waitingSince }) => waitingSince !== null && performance.now() - waitingSince > overdueMs)
  const look = async () => {
    if (isAsking || overdue().length === 0) return
    isAsking = true
    try {
      for (let n = 0; n < PROBES; n++) if (await answers(connection, probeMs)) return
      for (const one of overdue()) one.cut(new Error('Connection terminated: the server answers nobody'))
    } finally {
      isAsking = false
    }
  }
  const timer = setInterval(() => void look(), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Whether the server answers a new connection, even with a refusal. */
async function answers(connection: pg.ClientConfig, probeMs: number): Promise<boolean> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: probeMs })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch (error) {
    return error instanceof pg.DatabaseError
  } finally {
    void client.end().catch(() => {})
  }
}
