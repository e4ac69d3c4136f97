// Server-sent events (WHATWG HTML, section 9.2): framing, headers, heartbeat.
import type { FastifyReply } from 'fastify'
import { Problem } from '../../domain/problem.ts'
import { answerOf } from './problems.ts'

const HEARTBEAT_MS = 15_000
/** When a client that has too many streams may try again. */
const RETRY_SECONDS = 30

export interface EventStream {
  /** @param event without it, the message has no event name */
  send(data: unknown, event?: string, id?: string): void
  /** Sends one line of data that is not JSON. */
  sendText(text: string): void
  close(): void
  readonly closed: boolean
}

export interface StreamOptions {
  heartbeat?: boolean
  /**
   * For streams that nobody can slow down: while the client has this many unread bytes, events are dropped. When it has read
   * them, the event `dropped` reports how many. A client that reads nothing for a minute is disconnected.
   */
  mostUnread?: number
}

/** A client that reads nothing for this long is gone, or does not want the stream. */
const STUCK_MS = 60_000

/** Turns the reply into an event stream. */
export function openStream(reply: FastifyReply, options: StreamOptions = {}): EventStream {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  raw.write('retry: 3000\n\n')
  const { mostUnread = Infinity } = options
  let closed = false
  let dropped = 0
  let stuck: NodeJS.Timeout | null = null
  const write = (lines: string[]) => {
    if (closed) return
    if (dropped === 0 && raw.writableLength < mostUnread) {
      raw.write(`${lines.join('\n')}\n\n`)
      return
    }
    dropped++
    stuck ??= setTimeout(() => raw.destroy(), STUCK_MS).unref()
  }
  const resume = () => {
    if (stuck) clearTimeout(stuck)
    stuck = null
    if (dropped === 0 || closed) return
    const count = dropped
    dropped = 0
    write(['event: dropped', `data: ${JSON.stringify({ count })}`])
  }
  raw.on('drain', resume)
  const heartbeat = () => {
    if (dropped === 0) raw.write('event: heartbeat\ndata: {}\n\n')
  }
  const beat = options.heartbeat ? setInterval(heartbeat, HEARTBEAT_MS) : null
  const stop = () => {
    closed = true
    if (beat) clearInterval(beat)
    if (stuck) clearTimeout(stuck)
  }
  raw.on('close', stop)
  if (reply.request.method === 'HEAD') {
    // A HEAD request gets the headers and need not wait for the end of the stream.
    stop()
    raw.end()
  }
  return {
    send(data, event, id) {
      write([
        ...(id === undefined ? [] : [`id: ${id}`]),
        ...(event === undefined ? [] : [`event: ${event}`]),
        `data: ${JSON.stringify(data)}`,
      ])
    },
    sendText: (text) => write([`data: ${text}`]),
    close() {
      stop()
      raw.end()
    },
    get closed() {
      return closed
    },
  }
}

/** The error body as an event. Its `status` is `error`, even when the problem's extra keys have a record's status. */
export function errorEvent(problem: Problem): Record<string, unknown> {
  return { ...answerOf(problem).body, status: 'error' }
}

/** Open streams of one principal (docs/api-decisions.md, section 1). */
const MOST_OPEN = 5

/** Counts open streams by principal. @returns a function that counts one more and returns the function to call at its end */
export function createOpenStreams(): (principal: string) => () => void {
  const open = new Map<string, number>()
  return (principal) => {
    const count = open.get(principal) ?? 0
    if (count >= MOST_OPEN)
      throw new Problem(
        'rate_limited',
        `too many open streams: ${MOST_OPEN} are allowed at the same time`,
        { limit: MOST_OPEN, retry_after: RETRY_SECONDS },
        { retryAfterSeconds: RETRY_SECONDS },
      )
    open.set(principal, count + 1)
    return () => {
      const left = (open.get(principal) ?? 1) - 1
      if (left > 0) open.set(principal, left)
      else open.delete(principal)
    }
  }
}
