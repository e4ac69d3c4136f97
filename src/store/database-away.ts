// Errors while the database does not answer, or not in time, so that callers can tell an outage from a bug of ours.
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { StartError } from '../kernel/start-error.ts'
import { Problem } from '../domain/problem.ts'
import { watchFrozen, type FrozenOptions, type Watched } from './frozen.ts'

/** The database cannot be reached, or ended the connection. It may have executed the last statement. */
export class DatabaseAway extends Error {
  override name = 'DatabaseAway'
  /** error code of the system or of PostgreSQL; undefined where there is none */
  readonly code: string | undefined

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = (options?.cause as { code?: string } | undefined)?.code
  }
}

/** A newer build has changed the database so that this one cannot work on it. */
export class NewerDatabase extends StartError {}

const BUSY_RETRY_SECONDS = 5

/** Other transactions hold locks that a transaction needs, for too long or in a deadlock. The transaction was rolled back. */
export class DatabaseBusy extends Problem {
  constructor(cause: unknown) {
    const options = { cause, retryAfterSeconds: BUSY_RETRY_SECONDS }
    super('database_busy', 'other changes of the same packages were in the way for too long; try again', {}, options)
  }
}

/** SQLSTATE of a lock that was not granted within `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03'

/** The message names the cause, because a start that fails prints nothing else. */
function awayBecause(what: string, cause: unknown): DatabaseAway {
  const { message, code } = (cause ?? {}) as { message?: string; code?: string }
  // An address with several hosts gives an AggregateError without a message.
  return new DatabaseAway(`${what}: ${message || code || String(cause)}`, { cause })
}

/**
 * SQLSTATE of a server that stops, starts, fails over or has no room for another connection
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html); 25P03: it ended a frozen session.
 */
const AWAY = /^(08...|57P0[1-5]|53300|25P03|25006)$/
const SOCKET = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'])
/** Error messages of `pg` itself; none of these errors has a code. */
const OWN_WORDS =
  /^(Connection terminated|Client was closed|Client has encountered|Query read timeout|timeout exceeded)/

/** Whether an error of a statement comes from the connection or the server. */
export function isAway(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (typeof code === 'string') return AWAY.test(code) || SOCKET.has(code)
  return OWN_WORDS.test(String(message))
}

/** Whether an error comes from the database server or its content: a restart of this service would not change it. */
export function isOfDatabase(error: unknown): boolean {
  return error instanceof DatabaseAway || error instanceof NewerDatabase || error instanceof pg.DatabaseError
}

/**
 * A pool whose connections throw `DatabaseAway` for such errors. So does a failure to connect, whatever the reason: for the
 * client that sent the request, even a wrong password is an outage.
 */
export function createPool(options: pg.PoolConfig, frozen: FrozenOptions = {}): pg.Pool {
  const pool = new pg.Pool({ ...options, Client: ToldClient })
  const clients = new Set<ToldClient>()
  const isTold = (client: unknown): client is ToldClient => client instanceof ToldClient
  pool.on('connect', (client) => {
    if (isTold(client)) clients.add(client)
  })
  pool.on('remove', (client) => {
    if (isTold(client)) clients.delete(client)
  })
  const unwatch = watchFrozen(clients, { connectionString: options.connectionString }, frozen)
  const end: () => Promise<void> = pool.end.bind(pool)
  pool.end = () => {
    unwatch()
    return end()
  }
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  pool.connect = (async () => {
    try {
      return await connect()
    } catch (error) {
      throw awayBecause('no connection to the database', error)
    }
  }) as pg.Pool['connect']
  return pool
}

class ToldClient extends pg.Client implements Watched {
  waitingSince: number | null = null

  override query = ((...statement: never[]) => {
    const result: unknown = (super.query as (...statement: never[]) => unknown)(...statement)
    // Cursors and copies return at once, without a promise.
    if (!(result instanceof Promise)) return result
    this.waitingSince = performance.now()
    return result
      .catch((error: unknown) => {
        // `pg` would use the connection again although an answer is still due.
        if (isReadTimeout(error)) this.cut(error)
        if ((error as { code?: unknown }).code === LOCK_NOT_AVAILABLE) throw new DatabaseBusy(error)
        throw isAway(error) ? awayBecause('the database ended the connection', error) : error
      })
      .finally(() => (this.waitingSince = null))
  }) as pg.Client['query']

  cut(reason: Error): void {
    const { stream } = (this as unknown as { connection: { stream: { destroy(error: Error): void } } }).connection
    stream.destroy(reason)
  }
}

const isReadTimeout = (error: unknown): error is Error =>
  error instanceof Error && error.message === 'Query read timeout'
