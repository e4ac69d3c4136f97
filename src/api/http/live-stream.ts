// Streams of current events. They end when the client leaves, its credential ends or the service stops.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../domain/roles.ts'
import type { Log } from '../../kernel/log.ts'
import { openStream, type EventStream } from './sse.ts'
import { watchCaller, type Authenticate, type CallerWatch } from './watch-caller.ts'

export interface LiveStreamDeps {
  log: Log
  authenticate: Authenticate
}

export interface LiveStream {
  events: EventStream
  watch: CallerWatch
  /** Resolves when the connection is closed. */
  ended: Promise<void>
  /** the functions to call at the end, in any case */
  atEnd: (() => void)[]
}

/** What a client may leave unread, in bytes: some thousand events. */
const MOST_UNREAD = 512 * 1024

/** Runs `work`, which returns when the stream has ended. @param of name of the stream in the log */
export async function liveStream(
  { log, authenticate }: LiveStreamDeps,
  { of, access }: { of: string; access: Access },
  request: FastifyRequest,
  reply: FastifyReply,
  work: (stream: LiveStream) => Promise<void>,
): Promise<void> {
  const events = openStream(reply, { heartbeat: true, mostUnread: MOST_UNREAD })
  const watch = watchCaller(authenticate, request, access, () => events.close())
  const ended = new Promise<void>((resolve) => reply.raw.once('close', resolve))
  const atEnd: (() => void)[] = []
  try {
    await work({ events, watch, ended, atEnd })
  } catch (error) {
    // The headers are sent: the client connects again and gets the error with its status.
    log.warn({ err: error, request_id: request.id }, `a stream of ${of} ended early`)
  } finally {
    for (const end of atEnd) end()
    watch.stop()
    events.close()
  }
}
