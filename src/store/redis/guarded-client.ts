// The ioredis client, protected against a server that sends malformed replies.
import { createRequire } from 'node:module'
import { Redis as Client, ReplyError, type RedisOptions } from 'ioredis'

export type { Client }

/** Fields that ioredis does not declare. */
interface Connected {
  stream?: { destroy(): void }
}

interface Handler {
  redis: Connected
  dispatch(work: () => void): void
}

/**
 * After a malformed reply (for example `$-1` without a command, or a push of one element) ioredis 6.0.0 throws outside of
 * every promise, which ends the process. Here it ends the connection.
 */
const { default: DataHandler } = createRequire(import.meta.url)('ioredis/built/DataHandler.js') as {
  default: { prototype: Handler }
}
DataHandler.prototype.dispatch = function (this: Handler, work) {
  try {
    work()
  } catch {
    dropConnection(this.redis)
  }
}

/** Pause between two attempts to connect, in milliseconds. */
const RETRY_MS = 1_000

/** @param url `redis://` or `rediss://`, with a user, a password and a database if needed */
export function createClient(url: string, options: RedisOptions = {}): Client {
  return new Client(url, {
    lazyConnect: true,
    // RESP2 works with every server, and its client accepts no unrequested data on a connection for commands.
    protocol: 2,
    disableClientInfo: true,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 5_000,
    retryStrategy: () => RETRY_MS,
    ...options,
  })
}

/** Whether the server understood a command and refused it, for example because its memory is full. */
export const isErrorReply = (error: unknown) => error instanceof ReplyError

/** Ends the connection; the client connects again. May be called for each reply of a chunk. */
export function dropConnection(client: object): void {
  ;(client as Connected).stream?.destroy()
}
