// The stream of /dashboard/events: the present state, what the client missed, then what happens.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../domain/caller.ts'
import { mayAccess, type Role } from '../domain/roles.ts'
import type { Dashboard } from '../insight/dashboard.ts'
import type { LiveEvent } from '../insight/live-events.ts'
import type { LiveFeed } from '../insight/live-feed.ts'
import type { Log } from '../kernel/log.ts'
import { getDashboardEvents } from './dashboard.contract.ts'
import { openStream } from './sse.ts'
import { lastEventOf } from './task-stream.ts'
import { watchCaller } from './watch-caller.ts'

export interface DashboardStreamDeps {
  log: Log
  dashboard: Pick<Dashboard, 'summary'>
  feed: Pick<LiveFeed, 'listen' | 'position' | 'replay'>
  authenticate(authorization: string | undefined): Promise<Caller>
}

/** What a client may leave unread: some thousand events. */
const MOST_UNREAD = 512 * 1024
/** Events that wait until the client has what it missed. */
const MOST_WAITING = 1_000

/** Runs until the client leaves, its credential ends, or the service stops. */
export async function streamDashboard(
  { log, dashboard, feed, authenticate }: DashboardStreamDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const after = lastEventOf(request)
  const events = openStream(reply, { heartbeat: true, mostUnread: MOST_UNREAD })
  const watch = watchCaller(authenticate, request, getDashboardEvents.access, () => events.close())
  const ended = new Promise<void>((resolve) => reply.raw.once('close', resolve))
  const sendAll = (some: readonly LiveEvent[]) => {
    for (const { event, data, id } of some.flatMap((one) => seenBy(watch.role(), one)))
      events.send(data, event, id === null ? undefined : String(id))
  }
  let waiting: LiveEvent[] | null = []
  let dropped = 0
  const unlisten = feed.listen({
    receive(some) {
      if (waiting === null) sendAll(some)
      else if (waiting.length < MOST_WAITING) waiting.push(...some)
      else dropped += some.length
    },
    accountsChanged: watch.check,
    end: () => events.close(),
  })
  try {
    const upTo = await feed.position()
    events.send(await dashboard.summary(), 'snapshot')
    if (after > 0 && after < upTo) {
      const { events: missed, missed: more } = await feed.replay(after, upTo)
      if (more > 0) events.send({ count: more }, 'dropped')
      sendAll(missed)
    }
    // What arrived meanwhile may be what was replayed.
    sendAll(waiting.filter(({ id }) => id === null || id > upTo))
    if (dropped > 0) events.send({ count: dropped }, 'dropped')
    waiting = null
    await ended
  } catch (error) {
    // The headers are sent: the client connects again and gets the error with its status.
    log.warn({ err: error, request_id: request.id }, 'a stream of the dashboard ended early')
  } finally {
    unlisten()
    watch.stop()
    events.close()
  }
}

function seenBy(role: Role, event: LiveEvent): LiveEvent[] {
  if (!mayAccess(role, event.access)) return []
  if (!event.people || mayAccess(role, 'auditor+')) return [event]
  const hidden = Object.fromEntries(event.people.map((key) => [key, null]))
  return [{ ...event, data: { ...event.data, ...hidden } }]
}
