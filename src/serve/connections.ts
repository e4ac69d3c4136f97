// The open connections of a listener: one exchange at a time on each, and an orderly end of all. Knows nothing of what is exchanged.
import { Server as NetServer, type Socket } from 'node:net'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** Answers one request. Returns what is to be done when the answer has left, or its client has. */
export type Exchange = (request: IncomingMessage, response: ServerResponse) => () => void

export interface Connections {
  /**
   * Runs the exchange when those before it on the same connection are over. Pipelined requests would otherwise open
   * their files all at once, to wait for one another afterwards.
   */
  admit(request: IncomingMessage, response: ServerResponse): void
  /** Whether clients are being asked to go. */
  readonly draining: boolean
  isBusy(socket: Socket): boolean
  /** Stops accepting, lets running exchanges end, cuts those that still run after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>
}

interface Connection {
  busy: boolean
  waiting: [IncomingMessage, ServerResponse][]
}

export function createConnections(server: Server, exchange: Exchange): Connections {
  const open = new Map<Socket, Connection>()
  let draining = false

  server.on('connection', (socket: Socket) => {
    open.set(socket, { busy: false, waiting: [] })
    socket.once('close', () => open.delete(socket))
  })

  const start = (socket: Socket, connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    connection.busy = true
    const ended = exchange(request, response)
    response.on('close', () => {
      ended()
      connection.busy = false
      const next = connection.waiting.shift()
      if (next && !socket.destroyed) start(socket, connection, ...next)
      else if (draining) socket.destroySoon()
    })
  }

  return {
    admit(request, response) {
      const connection = open.get(request.socket)
      if (!connection) return
      if (connection.busy) connection.waiting.push([request, response])
      else start(request.socket, connection, request, response)
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
