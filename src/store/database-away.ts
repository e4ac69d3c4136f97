// What is thrown while the database does not answer, or not in time, so that callers can tell an outage from a fault of ours.
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { StartError } from '../kernel/start-error.ts'
import { Problem } from '../domain/problem.ts'
import { watchFrozen, type FrozenOptions, type Watched } from './frozen.ts'

/** The database cannot be reached, or ended the connection. What was sent last may have been carried out. */
export class DatabaseAway extends Error {
  override name = 'DatabaseAway'
  /** of the system or of PostgreSQL; undefined where there is none */
  readonly code: string | undefined

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = (options?.cause as { code?: string } | undefined)?.code
  }
}

/** A newer build has changed the database so that this one cannot work on it. */
export class NewerDatabase extends StartError {}

const BUSY_RETRY_SECONDS = 5

/** Others hold what a transaction needs, for too long or crosswise. It was undone. */
export class DatabaseBusy extends Problem {
  constructor(cause: unknown) {
    const options = { cause, retryAfterSeconds: BUSY_RETRY_SECONDS }
    super('database_busy', 'other changes of the same packages were in the way for too long; try again', {}, options)
  }
}

/** SQLSTATE of a lock that was not had within `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03'

/** The sentence names the cause: a start that fails prints nothing else. */
function awayBecause(what: string, cause: unknown): DatabaseAway {
  const { message, code } = (cause ?? {}) as { message?: string; code?: string }
  // An address with several hosts gives an AggregateError without a message.
  return new DatabaseAway(`${what}: ${message || code || String(cause)}`, { cause })
}

/**
 * SQLSTATE of a server that ends, starts, fails over or has no room for another connection
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html); 25P03: it ended a session that was frozen.
 */
const AWAY = /^(08...|57P0[1-5]|53300|25P03|25006)$/
const SOCKET = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'])
/** What `pg` says of its own; none of these errors has a code. */
const OWN_WORDS =
  /^(Connection terminated|Client was closed|Client has encountered|Query read timeout|timeout exceeded)/

/** Whether an error of a statement is one of the connection or the server. */
export function isAway(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (typeof code === 'string') return AWAY.test(code) || SOCKET.has(code)
  return OWN_WORDS.test(String(message))
}

/** Whether an error is one of the database server, or of what it holds: nothing that a restart of this service changes. */
export function isOfDatabase(error: unknown): boolean {
  return error instanceof DatabaseAway || error instanceof NewerDatabase || error instanceof pg.DatabaseError
}

/**
 * A pool whose connections throw `DatabaseAway` for such errors. A connection that cannot be had is one whatever the
 * reason is: a wrong password is an outage to whoever sent the request.
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
    // Cursors and copies come back at once.
    if (!(result instanceof Promise)) return result
    this.waitingSince = performance.now()
    return result
      .catch((error: unknown) => {
        // `pg` would go on using a connection on which an answer is still due.
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
