// The stream of /dashboard/events: the present state, missed events, then new events.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { mayAccess, type Role } from '../../domain/roles.ts'
import type { Dashboard } from '../../operations/dashboard/dashboard.ts'
import type { LiveEvent } from '../../operations/dashboard/live-events.ts'
import type { LiveFeed } from '../../operations/dashboard/live-feed.ts'
import { getDashboardEvents } from './dashboard.contract.ts'
import { liveStream, type LiveStreamDeps } from '../http/live-stream.ts'
import { lastEventOf } from '../tasks/stream.ts'

export interface DashboardStreamDeps extends LiveStreamDeps {
  dashboard: Pick<Dashboard, 'summary'>
  feed: Pick<LiveFeed, 'listen' | 'position' | 'replay'>
}

/** Events that wait until the client has the events it missed. */
const MOST_WAITING = 1_000

/** Runs until the client leaves, its credential ends, or the service stops. */
export function streamDashboard(
  { dashboard, feed, ...deps }: DashboardStreamDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const after = lastEventOf(request)
  const kind = { of: 'the dashboard', access: getDashboardEvents.access }
  return liveStream(deps, kind, request, reply, async ({ events, watch, ended, atEnd }) => {
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
    atEnd.push(unlisten)
    const upTo = await feed.position()
    events.send(await dashboard.summary(), 'snapshot')
    if (after > 0 && after < upTo) {
      const { events: missed, missed: more } = await feed.replay(after, upTo)
      if (more > 0) events.send({ count: more }, 'dropped')
      sendAll(missed)
    }
    // Events that arrived meanwhile may have been replayed already.
    sendAll(waiting.filter(({ id }) => id === null || id > upTo))
    if (dropped > 0) events.send({ count: dropped }, 'dropped')
    waiting = null
    await ended
  })
}

function seenBy(role: Role, event: LiveEvent): LiveEvent[] {
  if (!mayAccess(role, event.access)) return []
  if (!event.people || mayAccess(role, 'auditor+')) return [event]
  const hidden = Object.fromEntries(event.people.map((key) => [key, null]))
  return [{ ...event, data: { ...event.data, ...hidden } }]
}
