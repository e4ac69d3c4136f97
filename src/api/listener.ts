// The socket side of the API's server: one request at a time on a connection, and an end for clients that stall.
import {
  createServer as createHttpServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../domain/problem.ts'
import { createConnections, type Connections } from '../kernel/connections.ts'
import { answerOf } from './problems.ts'

/** In ms, unless named otherwise. */
export interface ListenerTimeouts {
  /** how often stalled exchanges are looked for */
  check: number
  /** a body that is not an upload has to be complete by then */
  body: number
  /** an upload may pause this long */
  uploadIdle: number
  /** an upload has this long before its average rate counts */
  uploadGrace: number
  /** the lowest average rate of an upload, bytes per second */
  uploadRate: number
  /** an answer may stay unread this long */
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

export interface Listener {
  /** for Fastify's `serverFactory`; it makes one server for each address of the host */
  createServer(handle: RequestListener): Server
  /** for Fastify's `clientErrorHandler` */
  refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void
  /** Stops accepting, lets running requests end, and cuts those that still run after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>
}

export function createListener(timeouts: ListenerTimeouts = TIMEOUTS): Listener {
  const servers: Connections[] = []
  return {
    createServer(handle) {
      const server = createHttpServer({
        // Bodies have their own rules below: an upload may take as long as its sender needs.
        requestTimeout: 0,
        headersTimeout: 30_000,
        connectionsCheckingInterval: 5_000,
        keepAliveTimeout: 75_000,
      })
      const connections = createConnections(server, (request, response) => {
        const timer = setInterval(watch(request, response, timeouts), timeouts.check)
        handle(request, response)
        return () => clearInterval(timer)
      })
      servers.push(connections)
      server.on('request', connections.admit)
      // The body is asked for (100 Continue) once the request is admitted: see `preParsing` in server.ts.
      server.on('checkContinue', connections.admit)
      return server
    },
    refuseUnreadable(error, socket) {
      // Nothing may be mixed into a running answer, and a broken connection has no reader.
      const busy = servers.some((connections) => connections.isBusy(socket))
      if (error.code === 'ECONNRESET' || !socket.writable || busy) socket.destroy()
      else refuse(socket, unreadable(error.code))
    },
    drain: async (deadlineMs) => {
      await Promise.all(servers.map((connections) => connections.drain(deadlineMs)))
    },
  }
}

/** @returns a check to repeat while the exchange lasts: it cuts off a body that does not come, or an answer not read */
function watch(request: IncomingMessage, response: ServerResponse, timeouts: ListenerTimeouts): () => void {
  const { socket } = request
  const started = performance.now()
  const readBefore = socket.bytesRead
  const isUpload = (request.headers['content-type'] ?? '').startsWith('multipart/')
  const reading = createProgress(() => socket.bytesRead)
  const writing = createProgress(() => socket.bytesWritten)

  function bodyIsLate(): boolean {
    const idleMs = reading.idleMs()
    // With bytes waiting to be taken, the delay is ours.
    if (request.complete || request.readableLength > 0) return false
    const elapsed = performance.now() - started
    if (!isUpload) return elapsed > timeouts.body
    if (idleMs > timeouts.uploadIdle) return true
    const expected = ((elapsed - timeouts.uploadGrace) / 1000) * timeouts.uploadRate
    return socket.bytesRead - readBefore < expected
  }

  return () => {
    if (bodyIsLate()) {
      if (response.headersSent) socket.destroy()
      else refuse(socket, new Problem('request_timeout', 'the request body did not arrive in time'))
      return
    }
    const idleMs = writing.idleMs()
    if (socket.writableLength > 0 && idleMs > timeouts.unread) socket.destroy()
  }
}

/** How long a counter has stood still, at the times it is asked. */
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

/** Answers where no response object can: in our error shape, and closes the connection. */
function refuse(socket: Socket, problem: Problem): void {
  const { status, body } = answerOf(problem)
  const text = JSON.stringify(body)
  const header = `Connection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}`
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${header}\r\n\r\n${text}`, () => socket.destroy())
}
