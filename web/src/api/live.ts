// Live events. One tab holds the stream for all tabs of this browser, because HTTP/1.1 gives a page six connections;
// the others receive events by BroadcastChannel. An event marks queries as stale; rows never move by themselves.
import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { client, read, type Endpoint } from './api.ts'
import { createOwnDecisions } from './own-decisions.ts'

/** The queries that each event marks as stale. */
const STALE: Record<string, readonly Endpoint[]> = {
  // Without events, this is what is polled.
  snapshot: ['GET /dashboard/summary', 'GET /tasks', 'GET /artifacts/admin/drift'],
  package: [
    'GET /dashboard/summary',
    'GET /dashboard/stats',
    'GET /artifacts',
    'GET /artifacts/{name}',
    'GET /distributions',
    'GET /security/packages/{name}/{version}/evidence',
  ],
  decision: [
    'GET /security/packages/{name}/{version}/evidence',
    'GET /security/decisions',
    'GET /artifacts/{name}',
    'GET /dashboard/stats',
    'GET /security/advisories/{id}',
    'GET /upload/mine',
    'GET /registries/{format}/{name}/withheld',
  ],
  scan: ['GET /artifacts/{name}', 'GET /security/vulnerabilities', 'GET /security/advisories/{id}'],
  review_queue: ['GET /dashboard/summary', 'GET /security/review-queue'],
  sync: ['GET /import/sync-status', 'GET /import/sources'],
  job: [
    'GET /import/sync/jobs',
    'GET /import/mirror/jobs',
    'GET /import/mirror/sources',
    'GET /tasks',
    'GET /artifacts/admin/drift',
  ],
  health: ['GET /health'],
  dropped: [
    'GET /dashboard/summary',
    'GET /tasks',
    'GET /artifacts/admin/drift',
    'GET /dashboard/stats',
    'GET /artifacts',
    'GET /artifacts/{name}',
    'GET /security/review-queue',
    'GET /security/packages/{name}/{version}/evidence',
  ],
}

/** Lists whose rows must not move under the cursor: they only announce that there is news. */
const ANNOUNCED: ReadonlySet<string> = new Set<Endpoint>(['GET /security/review-queue', 'GET /artifacts'])

const POLL_MS = 30_000
const FAILURES_BEFORE_POLLING = 3

type Connection = 'live' | 'polling'
/** A message of the tab with the stream to the others. */
interface Told {
  event?: string
  data?: unknown
  connection?: Connection
}
let connection: Connection = 'live'
const watchers = new Set<() => void>()
const news = new Map<string, number>()

/** What was decided in this tab. */
export const ownDecisions = createOwnDecisions()

function changed(): void {
  for (const watcher of watchers) watcher()
}

const subscribe = (watcher: () => void) => {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/** Whether events arrive, or numbers are polled instead. */
export const useConnection = () => useSyncExternalStore(subscribe, () => connection)

/** How many events concerned this list since it was last read. */
export const useNews = (endpoint: Endpoint) => useSyncExternalStore(subscribe, () => news.get(endpoint) ?? 0)

export function clearNews(endpoint: Endpoint): void {
  news.delete(endpoint)
  changed()
}

function take(queries: QueryClient, event: string, data: unknown): void {
  const isOwn = event === 'review_queue' && !ownDecisions.isNews((data as { pending: number }).pending)
  if (event === 'snapshot' && data !== undefined) {
    ownDecisions.isNews((data as { pending_reviews: number }).pending_reviews)
    // The event has only the counts.
    const { queryKey } = read('GET /dashboard/summary')
    queries.setQueryData(queryKey, (now) => now && { ...now, ...data })
    return
  }
  for (const endpoint of STALE[event] ?? []) {
    if (ANNOUNCED.has(endpoint) && event !== 'snapshot') {
      // Only when somebody is looking at the list; otherwise it is read when it is opened.
      if (!isOwn && queries.isFetching({ queryKey: [endpoint] }) === 0)
        news.set(endpoint, (news.get(endpoint) ?? 0) + 1)
      void queries.invalidateQueries({ queryKey: [endpoint], refetchType: 'none' })
    } else void queries.invalidateQueries({ queryKey: [endpoint] })
  }
  changed()
}

function setConnection(now: Connection): void {
  if (connection === now) return
  connection = now
  changed()
}

/** Follows the events while `on`. */
export function useLive(on: boolean): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (!on) return
    const end = new AbortController()
    const tabs = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('gatehouse-events')
    const hear = (data: Told) => {
      if (data.connection) setConnection(data.connection)
      if (data.event) take(queries, data.event, data.data)
    }
    const onMessage = ({ data }: MessageEvent<Told>) => hear(data)
    tabs?.addEventListener('message', onMessage)
    const tell = (message: Told) => {
      hear(message)
      tabs?.postMessage(message)
    }

    async function follow(): Promise<void> {
      let failures = 0
      let polling: ReturnType<typeof setInterval> | undefined
      for await (const result of client.events('/dashboard/events', { signal: end.signal })) {
        if (result.ok) {
          failures = 0
          clearInterval(polling)
          polling = undefined
          tell({ event: result.data.event, data: result.data.data, connection: 'live' })
        } else if (++failures >= FAILURES_BEFORE_POLLING && polling === undefined) {
          polling = setInterval(() => tell({ event: 'snapshot', connection: 'polling' }), POLL_MS)
          tell({ connection: 'polling' })
        }
      }
      clearInterval(polling)
    }

    const locks = (navigator as { locks?: LockManager }).locks
    const running = locks ? locks.request('gatehouse-events', { signal: end.signal }, follow) : follow()
    running.catch(() => undefined)
    return () => {
      end.abort()
      tabs?.close()
    }
  }, [on, queries])
}
