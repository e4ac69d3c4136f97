// Spans: named periods of work, published to listeners. There is none unless tracing is configured
// (operations/monitoring/tracing.ts); a span then only checks a channel: an awaited call takes 0.4 µs with it and without it.
import { channel } from 'node:diagnostics_channel'
import { isProblem } from '../domain/problem.ts'

/** Names as in the semantic conventions of OpenTelemetry; no secrets, no values of SQL parameters. */
export type Attributes = Record<string, string | number | boolean | undefined>

export interface Span {
  /** from a small set: it names no package and no id */
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client'
  /** read when the span ends */
  readonly attributes: Attributes
  /** headers of a request, whose trace the span continues */
  readonly caller?: Readonly<Record<string, string | string[] | undefined>>
  /** it exists only inside another span: work that is constantly repeated is not traced by itself */
  readonly isPart?: boolean
  /** of a span that has already ended, in milliseconds since 1970 */
  readonly startedAt?: number
  /** why it failed, as one stable word */
  failure?: string
  /** set by the listener */
  traceId?: string
}

/** The channels for tracing. Each message is the same Span object. */
export const SPAN_BEGINS = channel('gatehouse:span-begins')
export const SPAN_CONTINUES = channel('gatehouse:span-continues')
export const SPAN_ENDS = channel('gatehouse:span-ends')
/** the message is the headers of an outgoing request; the listener adds to them */
export const SPAN_LEAVES = channel('gatehouse:span-leaves')

export const isTraced = (): boolean => SPAN_BEGINS.hasSubscribers

/**
 * Runs work as a span inside the current one.
 * @param work may add its results to the attributes
 */
export function trace<T>(
  name: string,
  attributes: Attributes,
  work: (attributes: Attributes) => Promise<T>,
  more: Pick<Span, 'isPart'> & { kind?: Span['kind'] } = {},
): Promise<T> {
  if (!isTraced()) return work(attributes)
  const span: Span = { kind: 'internal', ...more, name, attributes }
  return beginSpan(span, async () => {
    try {
      return await work(attributes)
    } catch (error) {
      span.failure = wordOf(error)
      throw error
    } finally {
      endSpan(span)
    }
  })
}

/** Begins a span that `endSpan` ends, and runs work inside it. */
export function beginSpan<T>(span: Span, work: () => T): T {
  return SPAN_BEGINS.runStores(span, work)
}

/** Runs work inside a span that has begun, when its caller does not know the span, such as an event of a socket. */
export function continueSpan<T>(span: Span, work: () => T): T {
  return SPAN_CONTINUES.runStores(span, work)
}

export function endSpan(span: Span): void {
  SPAN_ENDS.publish(span)
}

/** Records work that has ended. @param milliseconds how long it took, until now */
export function recordSpan(span: Omit<Span, 'startedAt'>, milliseconds: number): void {
  const past: Span = { ...span, startedAt: performance.timeOrigin + performance.now() - milliseconds }
  beginSpan(past, () => endSpan(past))
}

/** Headers that let the receiver of a request continue the trace (https://www.w3.org/TR/trace-context/); none when off. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {}
  SPAN_LEAVES.publish(headers)
  return headers
}

/** Messages of errors may contain anything, so they are never part of a span. */
function wordOf(error: unknown): string {
  if (isProblem(error)) return error.code
  const { code, name } = error as { code?: unknown; name?: unknown }
  return [code, name].map(String).find((word) => /^\w{3,40}$/.test(word) && word !== 'undefined') ?? 'error'
}
