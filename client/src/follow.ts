// Follows a stream of events across connections.
import { delayBefore, sleep } from './attempts.ts'
import type { Transport } from './transport.ts'
import { createEventParser, textOf, type ServerEvent } from './events.ts'
import { localProblem, thrownProblem, type Problem, type Result } from './problem.ts'

export interface EventsOptions {
  signal?: AbortSignal
  /** continues after the event with this id */
  lastEventId?: string
  /** false: ends with the connection; by default the stream is opened again */
  reconnect?: boolean
}

const SILENCE_MS = 60_000

/**
 * Yields the events, and each interruption as a failure; ends after a failure that no other try can fix. The server sends a
 * heartbeat every 15 s, so a stream that is silent for a minute is opened again.
 */
export async function* followEvents(
  { send, deps }: Transport,
  path: string,
  { signal, lastEventId = '', reconnect = true }: EventsOptions,
): AsyncGenerator<Result<ServerEvent>> {
  let id = lastEventId
  let wait = 3000
  let isSecondCredential = false
  for (let failures = 0; ;) {
    const silence = new AbortController()
    const stop = () => silence.abort()
    signal?.addEventListener('abort', stop)
    let problem: Problem
    try {
      const opened = await send('GET', path, {
        signal: silence.signal,
        headers: { accept: 'text/event-stream', ...(id ? { 'last-event-id': id } : {}) },
      })
      if (opened.ok) {
        const parser = createEventParser(id)
        let timer = setTimeout(stop, SILENCE_MS)
        try {
          for await (const text of textOf(opened.data)) {
            // The stream was open, so this is no failure to open it: a proxy that ends quiet streams must not end the following.
            failures = 0
            isSecondCredential = false
            clearTimeout(timer)
            timer = setTimeout(stop, SILENCE_MS)
            const events = parser.push(text)
            wait = parser.retryMs ?? wait
            for (const data of events) {
              id = parser.lastId
              yield { ...opened, data }
            }
          }
          problem = localProblem('network_error', 'the stream ended')
        } finally {
          clearTimeout(timer)
        }
      } else problem = opened.error
    } catch (error) {
      problem = thrownProblem(error, signal)
    } finally {
      signal?.removeEventListener('abort', stop)
      silence.abort()
    }
    if (signal?.aborted) return
    if (!reconnect) {
      if (problem.detail !== 'the stream ended') yield { ok: false, error: problem }
      return
    }
    if (problem.status === 401 && !isSecondCredential && (await deps.hasAnother?.())) {
      isSecondCredential = true
      continue
    }
    yield { ok: false, error: problem }
    const delay = delayBefore(problem, failures++, true, deps.random())
    if (delay === null || !(await sleep(Math.max(delay, wait), signal))) return
  }
}
