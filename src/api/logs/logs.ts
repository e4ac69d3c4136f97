// /logs: the service log of all machines, newest first and as a stream.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidField } from '../../domain/problem.ts'
import type { LogTail } from '../../operations/logs/tail.ts'
import { matches, readLog, type LogEntry, type LogFilter } from '../../operations/logs/reader.ts'
import { isoTime } from '../../kernel/clock.ts'
import { createSemaphore } from '../../kernel/semaphore.ts'
import { goneSignal } from '../http/gone.ts'
import { getLogs, getLogsStream } from './logs.contract.ts'
import { liveStream, type LiveStreamDeps } from '../http/live-stream.ts'
import { handle, type Route } from '../http/route.ts'
import { createOpenStreams } from '../http/sse.ts'

export interface LogDeps extends LiveStreamDeps {
  /** of the log files */
  directory: string
  tail: Pick<LogTail, 'listen'>
}

/** Queries that read files at the same time. */
const AT_ONCE = 2
/** Entries that a client gets again when it connects again. */
const REPLAYED = 500

export function logRoutes(deps: LogDeps): Route[] {
  const openOne = createOpenStreams()
  const slot = createSemaphore(AT_ONCE)
  return [
    handle(getLogs, async ({ query: { limit, since, ...filter }, reply }) => {
      const wanted = { ...filter, since: since === undefined ? undefined : timeOf(since) }
      const { entries, complete } = await slot(() => readLog(deps.directory, wanted, limit, goneSignal(reply)))
      return { items: entries.map(viewOf), total: entries.length, limit, complete }
    }),
    handle(getLogsStream, async ({ query, caller, raw, reply }) => {
      const closed = openOne(caller.principal)
      await streamLog(deps, query, raw, reply).finally(closed)
      return undefined
    }),
  ]
}

/** Runs until the client leaves, its credential ends, or the service stops. */
function streamLog(deps: LogDeps, filter: LogFilter, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const kind = { of: 'the log', access: getLogsStream.access }
  return liveStream(deps, kind, request, reply, async ({ events, ended, atEnd }) => {
    const send = (entry: LogEntry) => events.send(viewOf(entry), 'log', entry.id)
    let waiting: LogEntry[] | null = []
    const unlisten = await deps.tail.listen({
      receive(entry, line) {
        if (!matches(filter, entry, line)) return
        if (waiting === null) send(entry)
        else if (waiting.length < REPLAYED) waiting.push(entry)
      },
      dropped: (count) => events.send({ count }, 'dropped'),
      end: () => events.close(),
    })
    atEnd.push(unlisten)
    const missed = await after(deps.directory, filter, request.headers['last-event-id'])
    missed.forEach(send)
    const sent = new Set(missed.map(({ id }) => id))
    waiting.filter(({ id }) => !sent.has(id)).forEach(send)
    waiting = null
    await ended
  })
}

/** The last entries after the one with this id, oldest first; none for an id that is not ours. */
async function after(directory: string, filter: LogFilter, id: string | string[] | undefined): Promise<LogEntry[]> {
  const [, time] = /^(\d{12,14})-[0-9a-f]{12}$/.exec(String(id)) ?? []
  if (time === undefined) return []
  const { entries } = await readLog(directory, { ...filter, since: new Date(Number(time)) }, REPLAYED)
  const oldestFirst = entries.reverse()
  const known = oldestFirst.findIndex((entry) => entry.id === id)
  return known >= 0 ? oldestFirst.slice(known + 1) : oldestFirst
}

function viewOf({ time, level, name, message, request_id, data }: LogEntry) {
  return { timestamp: isoTime(time), level, name, message, request_id, data }
}

function timeOf(text: string): Date {
  // An unescaped `+` in a query string is decoded as a space.
  const time = new Date(text.replace(' ', '+'))
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(time.getTime()))
    throw invalidField('since', 'is not an ISO 8601 date or time')
  return time
}
