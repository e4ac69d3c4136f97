// The open connections of a listener: one request at a time on each, a bounded pipeline, and an orderly shutdown.
import { Server as NetServer, type Socket } from 'node:net'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** Answers one request. Returns what to do when the response has been sent or its client has disconnected. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => () => void

export interface Connections {
  /**
   * Runs the handler when earlier requests of the same connection are done. Pipelined requests would otherwise open
   * their files all at the same time and then wait for one another.
   */
  admit(request: IncomingMessage, response: ServerResponse): void
  /** Whether the listener is shutting down. */
  readonly draining: boolean
  isBusy(socket: Socket): boolean
  /** Stops accepting, lets running requests end, and destroys the connections still open after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>
}

/**
 * Pipelined requests that wait on one connection. apt sends 10 (`Acquire::http::Pipeline-Depth`), dnf and zypper one.
 * Each costs about 5 KB until it is answered, and a client that reads nothing is never answered.
 */
const MOST_WAITING = 100

interface Connection {
  busy: boolean
  waiting: [IncomingMessage, ServerResponse][]
  /** true once the client sent more than may wait: the last request that waits is the last one answered */
  overrun: boolean
}

export function createConnections(server: Server, handle: Handler): Connections {
  const open = new Map<Socket, Connection>()
  let draining = false

  server.on('connection', (socket: Socket) => {
    open.set(socket, { busy: false, waiting: [], overrun: false })
    socket.once('close', () => open.delete(socket))
  })

  const start = (socket: Socket, connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    connection.busy = true
    const ended = handle(request, response)
    response.on('close', () => {
      ended()
      connection.busy = false
      const next = connection.waiting.shift()
      if (next && !socket.destroyed) start(socket, connection, ...next)
      else if (draining) socket.destroySoon()
    })
  }

  /** The client must repeat the requests after the last answer on a new connection (RFC 9112 section 9.3.2). */
  const refuseMore = (socket: Socket, connection: Connection): void => {
    connection.waiting.at(-1)?.[1].setHeader('Connection', 'close')
    connection.overrun = true
    socket.pause()
  }

  return {
    admit(request, response) {
      const { socket } = request
      const connection = open.get(socket)
      if (!connection || connection.overrun) return
      if (!connection.busy) start(socket, connection, request, response)
      else if (connection.waiting.length < MOST_WAITING) connection.waiting.push([request, response])
      else refuseMore(socket, connection)
    },
    get draining() {
      return draining
    },
    isBusy: (socket) => open.get(socket)?.busy ?? false,
    async drain(deadlineMs) {
      draining = true
      // Not server.close(): it also destroys connections whose response was ended but not yet sent (Node 20).
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
      for (const [socket, { busy }] of open) if (!busy) socket.destroySoon()
      const deadline = setTimeout(() => {
        for (const socket of open.keys()) socket.destroy()
      }, deadlineMs)
      await closed
      clearTimeout(deadline)
      // Ends the server's own time-out checks.
      server.close()
    },
  }
}
