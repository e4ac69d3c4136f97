// The socket side of the API server: one request at a time per connection, and timeouts for stalled clients.
import {
  createServer as createHttpServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../../domain/problem.ts'
import { createConnections, hasTwoHosts, type Connections } from '../../kernel/connections.ts'
import { answerOf } from './problems.ts'

/** All in ms except `uploadRate`. */
export interface ListenerTimeouts {
  /** interval between checks for stalled exchanges */
  check: number
  /** longest time for a body that is not an upload to arrive */
  body: number
  /** longest pause of an upload */
  uploadIdle: number
  /** time before the average rate of an upload is checked */
  uploadGrace: number
  /** the lowest average rate of an upload, bytes per second */
  uploadRate: number
  /** longest time an answer may stay unread */
  unread: number
}

const TIMEOUTS: ListenerTimeouts = {
  check: 2_000,
  body: 30_000,
  uploadIdle: 30_000,
  uploadGrace: 30_000,
  uploadRate: 4_096,
  unread: 60_000,
}

/** A request. `isUpload` is set at its admission: its body may take any time while it keeps arriving. */
export interface Arriving extends IncomingMessage {
  isUpload?: boolean
}

export interface Listener {
  /** for Fastify's `serverFactory`, which is called once for each address of the host */
  createServer(handle: RequestListener): Server
  /** for Fastify's `clientErrorHandler` */
  refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void
  /** Stops accepting connections, waits for running requests, and cuts those that still run after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>
}

export function createListener(timeouts: ListenerTimeouts = TIMEOUTS): Listener {
  const servers: Connections[] = []
  return {
    createServer(handle) {
      const server = createHttpServer({
        // `watch` limits bodies instead: a large upload may take longer than any fixed time.
        requestTimeout: 0,
        headersTimeout: 30_000,
        connectionsCheckingInterval: 5_000,
        keepAliveTimeout: 75_000,
      })
      const run = (request: IncomingMessage, response: ServerResponse) => {
        if (hasTwoHosts(request)) {
          refuse(request.socket, unreadable(undefined))
          return () => {}
        }
        const timer = setInterval(watch(request, response, timeouts), timeouts.check)
        handle(request, response)
        return () => clearInterval(timer)
      }
      const connections = createConnections(server, run, ({ socket }, response) => {
        if (response.headersSent || !socket.writable) socket.destroy()
        else refuse(socket, new Problem('internal_error', 'an unexpected error happened; the log has it'))
      })
      servers.push(connections)
      server.on('request', connections.admit)
      // `preParsing` in server.ts sends 100 Continue once the request is admitted.
      server.on('checkContinue', connections.admit)
      return server
    },
    refuseUnreadable(error, socket) {
      // An error must not be written into a running answer or to a broken connection.
      const busy = servers.some((connections) => connections.isBusy(socket))
      if (error.code === 'ECONNRESET' || !socket.writable || busy) socket.destroy()
      else refuse(socket, unreadable(error.code))
    },
    drain: async (deadlineMs) => {
      await Promise.all(servers.map((connections) => connections.drain(deadlineMs)))
    },
  }
}

/** @returns a check to run at intervals, which ends the connection when the body stalls or the answer is not read */
function watch(request: Arriving, response: ServerResponse, timeouts: ListenerTimeouts): () => void {
  const { socket } = request
  const started = performance.now()
  const readBefore = socket.bytesRead
  const reading = createProgress(() => socket.bytesRead)
  const writing = createProgress(() => socket.bytesWritten)

  function bodyIsLate(): boolean {
    const idleMs = reading.idleMs()
    // Received bytes are waiting, so the server causes the delay.
    if (request.complete || request.readableLength > 0) return false
    const elapsed = performance.now() - started
    if (!request.isUpload) return elapsed > timeouts.body
    if (idleMs > timeouts.uploadIdle) return true
    const expected = ((elapsed - timeouts.uploadGrace) / 1000) * timeouts.uploadRate
    return socket.bytesRead - readBefore < expected
  }

  return () => {
    // The request was refused already; its client may still be sending.
    if (!socket.writable) return
    if (bodyIsLate()) {
      if (response.headersSent) socket.destroy()
      else refuse(socket, new Problem('request_timeout', 'the request body did not arrive in time'))
      return
    }
    const idleMs = writing.idleMs()
    if (socket.writableLength > 0 && idleMs > timeouts.unread) socket.destroy()
  }
}

/** Measures how long a counter has not changed, as seen at each call. */
function createProgress(count: () => number): { idleMs(): number } {
  let last = count()
  let since = performance.now()
  return {
    idleMs() {
      const now = performance.now()
      if (count() !== last) [last, since] = [count(), now]
      return now - since
    },
  }
}

function unreadable(code: string | undefined): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout', 'the request did not arrive in time')
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('header_too_large', 'the request header is larger than 16 KiB')
  return new Problem('malformed_request', 'this is not a valid HTTP/1.1 request')
}

/**
 * Writes an error answer to the raw socket, for use where there is no response object, and closes the connection as
 * `kernel/connections` does: a client that is still sending would lose the answer to a reset.
 */
function refuse(socket: Socket, problem: Problem): void {
  const { status, body } = answerOf(problem)
  const text = JSON.stringify(body)
  const header = `Connection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}`
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${header}\r\n\r\n${text}`)
  socket.destroySoon()
}
