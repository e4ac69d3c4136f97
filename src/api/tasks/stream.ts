// Streams the lines of a task to a client, from where it left off, while the client may read them.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../domain/caller.ts'
import type { Access } from '../../domain/roles.ts'
import type { Log } from '../../kernel/log.ts'
import type { TaskRow } from '../../store/tables.ts'
import type { TaskLine } from '../../tasks/task-query.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { openStream, type EventStream } from '../http/sse.ts'
import { watchCaller } from '../http/watch-caller.ts'

export interface TaskStreamDeps {
  log: Log
  tasks: Pick<Tasks, 'follow'>
  authenticate(authorization: string | undefined): Promise<Caller>
}

export interface TaskStreamOptions {
  id: number
  /** `seq` of the last line that the client has */
  after: number
  access: Access
  line(events: EventStream, line: TaskLine): void
  end(events: EventStream, task: TaskRow): void
}

/** When the service stops, the stream ends without the final event. */
export async function streamTask(
  { tasks, authenticate, log }: TaskStreamDeps,
  { id, after, access, line, end }: TaskStreamOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const closed = new AbortController()
  const events = openStream(reply, { heartbeat: true })
  reply.raw.on('close', () => closed.abort())
  const watch = watchCaller(authenticate, request, access, () => closed.abort())
  try {
    const following = tasks.follow(id, after, closed.signal)
    for (;;) {
      const { value, done } = await following.next()
      if (!done) for (const one of value) line(events, one)
      else if (value) end(events, value)
      if (done || events.closed) break
    }
  } catch (error) {
    // The headers are sent: the client connects again and gets the error with its status.
    log.warn({ err: error, task: id, request_id: request.id }, 'a stream of a task ended early')
  } finally {
    watch.stop()
    events.close()
  }
}

/** The `Last-Event-ID` of a client that connects again: https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function lastEventOf({ headers }: FastifyRequest): number {
  const id = Number(headers['last-event-id'])
  return Number.isSafeInteger(id) && id > 0 && id < 2 ** 31 ? id : 0
}
