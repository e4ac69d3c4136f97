// The open connections of an HTTP server: one request at a time on each, a bounded pipeline, and an orderly shutdown.
import { Server as NetServer, type Socket } from 'node:net'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** Answers one request. Returns what to do once the answer has left or its client has gone. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => () => void

export interface Connections {
  /**
   * Runs the handler when earlier requests of the same connection are done. Node hands over every pipelined request it
   * has read, 2,000 from one read of 64 KiB; run together they would hold the process for a minute.
   */
  admit(request: IncomingMessage, response: ServerResponse): void
  /** Whether clients are being asked to leave. */
  readonly draining: boolean
  isBusy(socket: Socket): boolean
  /** Stops accepting, lets running requests end, and destroys the connections still open after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>
}

interface Connection {
  current: IncomingMessage | null
  waiting: [IncomingMessage, ServerResponse][]
  /** true once the client sent more than may wait: the last request that waits is the last one answered */
  overrun: boolean
}

/**
 * Pipelined requests that wait on one connection. apt sends 10 (`Acquire::http::Pipeline-Depth`), dnf and zypper one.
 * Each costs about 5 KB until it is answered, and a client that reads nothing is never answered.
 */
const MOST_WAITING = 100
/** How long a client may take to read an answer given before its body was read, until the connection is cut. */
const LINGER_MS = 2_000

export function createConnections(server: Server, handle: Handler): Connections {
  const open = new Map<Socket, Connection>()
  let draining = false

  server.on('connection', (socket: Socket) => {
    const connection: Connection = { current: null, waiting: [], overrun: false }
    open.set(socket, connection)
    closeGently(socket, () => connection.current)
    socket.once('close', () => open.delete(socket))
  })

  const start = (socket: Socket, connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    connection.current = request
    const ended = handle(request, response)
    response.on('close', () => {
      ended()
      connection.current = null
      const next = connection.waiting.shift()
      if (next && !socket.destroyed) start(socket, connection, ...next)
      else if (draining) socket.destroySoon()
    })
  }

  /** The client must repeat the requests after the last answer on a new connection (RFC 9112, section 9.3.2). */
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
      if (!connection.current) start(socket, connection, request, response)
      else if (connection.waiting.length < MOST_WAITING) connection.waiting.push([request, response])
      else refuseMore(socket, connection)
    },
    get draining() {
      return draining
    },
    isBusy: (socket) => Boolean(open.get(socket)?.current),
    async drain(deadlineMs) {
      draining = true
      // Not server.close(): it also destroys connections whose response was ended but not yet sent (Node 20).
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
      for (const [socket, { current }] of open) if (!current) socket.destroySoon()
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

/**
 * Node calls `destroySoon` after an answer with `Connection: close`. Destroying a socket with unread bytes resets the
 * connection, and the client may lose the answer (RFC 9112, section 9.6); so the rest of a body is read and dropped for a
 * moment first.
 */
function closeGently(socket: Socket, current: () => IncomingMessage | null): void {
  const destroySoon = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    const request = current()
    if (!request || request.complete) {
      destroySoon()
      return
    }
    request.unpipe()
    request.resume()
    socket.end()
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }
}
