// Conditional requests (RFC 9110 section 13): compares the client's copy with the current file. Knows no files.
import type { IncomingHttpHeaders } from 'node:http'
import { formatHttpDate, parseHttpDate } from './http-date.ts'

/** Identifies one state of a file. */
export interface Validators {
  /** strong entity tag, with its quotes */
  etag: string
  /** the second of the last change, since 1970 */
  changedAt: number
  /** false while this second has not ended: another change in it would have the same date */
  settled: boolean
}

export type ConditionOutcome = 'send' | 'not_modified' | 'precondition_failed'

/** The kernel's clock for file times may be one tick behind the clock that processes read. */
const TICK_MS = 50

/**
 * Decides whether the second of a change is over, so that its date alone identifies the file's state.
 * @param observedMs a time read before the file's statistics
 */
export function validatorsOf(etag: string, changedMs: number, observedMs: number): Validators {
  const changedAt = Math.floor(changedMs / 1000)
  return { etag, changedAt, settled: observedMs >= (changedAt + 1) * 1000 + TICK_MS }
}

/**
 * The `Last-Modified` to send. Until the second of the change has ended, it is one second earlier (never later than
 * `Date`): a client that asks again then gets the file, and not a 304 for a generation that was replaced within the same
 * second. apt compares by date alone.
 */
export function lastModified({ changedAt, settled }: Validators, observedMs: number): string {
  return formatHttpDate(settled ? changedAt : Math.min(changedAt, Math.floor(observedMs / 1000)) - 1)
}

/** Evaluates the preconditions of a GET or HEAD in the order of RFC 9110 section 13.2.2. */
export function evaluate(headers: IncomingHttpHeaders, now: Validators, observedMs: number): ConditionOutcome {
  const ifMatch = headers['if-match']
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, now.etag, 'strong')) return 'precondition_failed'
  } else {
    const unmodifiedSince = date(headers['if-unmodified-since'], observedMs)
    if (unmodifiedSince !== null && now.changedAt > unmodifiedSince) return 'precondition_failed'
  }

  const ifNoneMatch = headers['if-none-match']
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, now.etag, 'weak') ? 'not_modified' : 'send'

  const modifiedSince = date(headers['if-modified-since'], observedMs)
  if (modifiedSince !== null && dateOfNoDoubt(now) <= modifiedSince) return 'not_modified'
  return 'send'
}

/** Whether a `Range` applies: no `If-Range`, or one that names the current state (RFC 9110 section 13.1.5). */
export function rangeIsCurrent(headers: IncomingHttpHeaders, now: Validators, observedMs: number): boolean {
  const ifRange = headers['if-range']
  if (ifRange === undefined) return true
  const text = String(ifRange)
  if (/^(?:W\/)?"/.test(text)) return text === now.etag
  // Exact, and only while the date is a strong validator (RFC 9110 section 8.8.2.2).
  return now.settled && date(text, observedMs) === now.changedAt
}

function dateOfNoDoubt({ changedAt, settled }: Validators): number {
  return settled ? changedAt : changedAt + 1
}

function date(text: string | undefined, observedMs: number): number | null {
  return text === undefined ? null : parseHttpDate(text, observedMs / 1000)
}

/** Entity tags may contain commas, so the list is not split at them (RFC 9110 section 8.8.3). */
const ENTITY_TAGS = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

function matches(list: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (list.trim() === '*') return true
  for (const [, weak, tag] of list.matchAll(ENTITY_TAGS)) {
    if (tag === etag && (comparison === 'weak' || weak === undefined)) return true
  }
  return false
}
