// The open connections of an HTTP server: one request at a time on each, a bounded pipeline, and an orderly shutdown.
import { Server as NetServer, type Socket } from 'node:net'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createTurns, readInTurns } from './read-in-turns.ts'
import { runUncaught, type Work } from './work.ts'

/** Answers one request. Returns a function to call once the answer is sent or the client has disconnected. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => () => void

export interface Connections {
  /**
   * Runs the handler when earlier requests of the same connection are done. Node passes on every pipelined request that it
   * has read, 2,000 from one read of 64 KiB; all at once they would block the process for a minute.
   */
  admit(request: IncomingMessage, response: ServerResponse): void
  isBusy(socket: Socket): boolean
  /**
   * Stops accepting and asks clients to leave: the next answer on each connection is the last and says so. Connections without
   * a request are closed after a short grace; those still open after `deadlineMs` are destroyed.
   */
  drain(deadlineMs: number): Promise<void>
}

interface Connection {
  current: IncomingMessage | null
  /** the answer to the current request */
  response: ServerResponse | null
  /** the work of the current request (`kernel/work`) */
  work: Work | null
  waiting: [IncomingMessage, ServerResponse][]
  /** true once the client sent more than may wait, or invalid HTTP: the rest is dropped, and waiting requests are answered */
  overrun: boolean
}

/**
 * Most pipelined requests that wait on one connection. apt sends 10 (`Acquire::http::Pipeline-Depth`), dnf and zypper one.
 * Each costs about 5 KB until it is answered, and a client that reads nothing is never answered.
 */
const MOST_WAITING = 100
/** Waiting connections that are read from in one turn of the event loop, at about 0.5 ms each. */
const READ_IN_A_TURN = 16
/**
 * Pipelined requests that are started in one turn, at about 0.1 ms each. Files in memory are answered at once: 20
 * connections with 100 requests each took 270 ms of one turn.
 */
const STARTED_IN_A_TURN = 64
/** If an answer is given before the request's body was read, the client has this long to read it before the connection is cut. */
const LINGER_MS = 2_000
/**
 * How long a connection without a request is kept open after clients were asked to leave. If it were closed at once, a
 * request already on its way would be lost: 16 busy clients lost 10 to 45 in one replacement of a process.
 */
const LEAVE_MS = 500

/** Whether a request announces a body (RFC 9112, section 6). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Such a request is refused (RFC 9112, section 3.2): a server before this one may use the other host. Node keeps the first. */
export function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}

/**
 * @param fail ends a request with an uncaught error; without it the connection is closed
 * @param onOverrun called when a client sends more requests at once than may wait: the rest is dropped
 */
export function createConnections(
  server: Server,
  handle: Handler,
  fail: (request: IncomingMessage, response: ServerResponse) => void = ({ socket }) => socket.destroy(),
  onOverrun: () => void = () => {},
): Connections {
  const open = new Map<Socket, Connection>()
  const reads = createTurns(READ_IN_A_TURN)
  const starts = createTurns(STARTED_IN_A_TURN)
  let draining = false
  let graceOver = false

  server.on('connection', (socket: Socket) => {
    const connection: Connection = { current: null, response: null, work: null, waiting: [], overrun: false }
    open.set(socket, connection)
    readInTurns(socket, connection, reads, MOST_WAITING)
    closeGently(socket, connection)
    socket.once('close', () => open.delete(socket))
  })
  server.on('clientError', (_, socket) => {
    const connection = open.get(socket as Socket)
    if (connection) connection.overrun = true
  })

  const start = (socket: Socket, connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    const work: Work = {
      kind: 'request',
      about: () => ({ method: request.method, path: request.url?.replace(/\?.*/, '') }),
      fail: () => fail(request, response),
      isOver: false,
    }
    connection.current = request
    connection.response = response
    connection.work = work
    if (draining) sayLast(connection)
    const ended = runUncaught(work, () => handle(request, response))
    response.on('close', () => {
      ended?.()
      work.isOver = true
      connection.current = null
      connection.response = null
      connection.work = null
      if (connection.waiting.length > 0) starts.wait(() => startNext(socket, connection))
      // An answer that began before the drain does not say that it is the last, so another request may follow.
      else if (graceOver) socket.destroySoon()
    })
  }

  const startNext = (socket: Socket, connection: Connection): void => {
    const next = connection.waiting.shift()
    if (next && !socket.destroyed) start(socket, connection, ...next)
  }

  /** The client must repeat the requests after the last answer on a new connection (RFC 9112, section 9.3.2). */
  const refuseMore = (connection: Connection): void => {
    connection.waiting.at(-1)?.[1].setHeader('Connection', 'close')
    connection.overrun = true
    onOverrun()
  }

  return {
    admit(request, response) {
      const { socket } = request
      const connection = open.get(socket)
      if (!connection || connection.overrun) return
      if (!isBusy(connection)) start(socket, connection, request, response)
      else if (connection.waiting.length < MOST_WAITING) connection.waiting.push([request, response])
      else refuseMore(connection)
    },
    isBusy(socket) {
      const connection = open.get(socket)
      return connection !== undefined && isBusy(connection)
    },
    async drain(deadlineMs) {
      draining = true
      // Not server.close(): it also destroys connections whose response was ended but not yet sent (Node 20).
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
      for (const connection of open.values()) sayLast(connection)
      const leave = () => {
        graceOver = true
        for (const [socket, connection] of open) if (!isBusy(connection)) socket.destroySoon()
      }
      const grace = setTimeout(leave, Math.min(LEAVE_MS, deadlineMs))
      const deadline = setTimeout(() => {
        for (const socket of open.keys()) socket.destroy()
      }, deadlineMs)
      await closed
      clearTimeout(grace)
      clearTimeout(deadline)
      // Ends the server's own time-out checks.
      server.close()
    },
  }
}

/** Between two requests of a pipeline the next one only waits for its start. */
const isBusy = ({ current, waiting }: Connection): boolean => current !== null || waiting.length > 0

/** Requests after an answer that says so are dropped, so requests that already wait on the connection are answered first. */
function sayLast({ response, waiting }: Connection): void {
  if (response && !response.headersSent && waiting.length === 0) response.setHeader('Connection', 'close')
}

/**
 * Node calls `destroySoon` after an answer with `Connection: close`. Destroying a socket with unread bytes resets the
 * connection, and the client may lose the answer (RFC 9112, section 9.6); so the rest of a body is first read and dropped
 * for a moment.
 */
function closeGently(socket: Socket, connection: Connection): void {
  const destroySoon = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    const { current, overrun } = connection
    const sendsMore = overrun || current?.complete === false
    if (!sendsMore) {
      destroySoon()
      return
    }
    current?.unpipe()
    current?.resume()
    socket.end()
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }
}
