// One line of an access log in nginx's "combined" format. A custom log_format may add anything after it.
import { isIP } from 'node:net'

/** An answered request, as logged. */
export interface LogLine {
  /** address of the client */
  address: string
  /** who signed in, `machine:web-01`; null for nobody */
  reader: string | null
  /** seconds since 1970 */
  at: number
  method: string
  /** as sent, escaped by the logger */
  target: string
  status: number
  bytes: number
  /** at most 200 characters; `-` for none */
  agent: string
}

/** Longest line that is parsed: nginx accepts 32 KiB of request head, and may write four characters for one byte. */
export const MOST_LINE_BYTES = 160 * 1024
const MOST_AGENT_CHARS = 200

/**
 * nginx and our listeners escape quotes and control characters of clients. So the first quote is the log's own, and no client
 * can end a field. The second token is the host of Apache's "vhost_combined".
 */
const COMBINED =
  /^(?:[\w.:-]+ )?([0-9a-fA-F.:]{2,45}) - ([^"]{0,1000})\[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)\] "([^"]*)" (\d{3}) (\d{1,15}) "[^"]*" "([^"]*)"(?: |$)/

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** @returns null for a line in another format, or one without a valid request */
export function parseLine(line: string): LogLine | null {
  const match = COMBINED.exec(line)
  if (!match) return null
  const [, address, user, day, month, year, hour, minute, second, sign, zoneHours, zoneMinutes, request] =
    match as string[]
  const monthIndex = MONTHS.indexOf(month as string)
  if (monthIndex < 0 || !isIP(address as string)) return null
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60 * (sign === '-' ? -1 : 1)
  const local = Date.UTC(Number(year), monthIndex, Number(day), Number(hour), Number(minute), Number(second)) / 1000
  // nginx logs invalid requests unchanged: a TLS greeting, an empty line.
  const [method, target] = /^([A-Z]{1,20}) (\S+) HTTP\/\d(?:\.\d)?$/.exec(request as string)?.slice(1) ?? ['', '']
  return {
    address: address as string,
    reader: readerOf(user as string),
    at: local - offset,
    method: method as string,
    target: target as string,
    status: Number(match[13]),
    bytes: Number(match[14]),
    agent: (match[15] as string).slice(0, MOST_AGENT_CHARS),
  }
}

/**
 * The names that listeners give to readers have a colon. A name that a client claims with Basic has none, so nobody can forge one
 * in a log of nginx.
 */
function readerOf(user: string): string | null {
  return /^(?:machine|token):[\w.@:-]{1,200} $/.test(user) ? user.trimEnd() : null
}

/** One text for an address and who signed in there: different machines behind one address are different clients. */
export const clientOf = ({ address, reader }: Pick<LogLine, 'address' | 'reader'>) =>
  reader === null ? address : `${address} ${reader}`

/**
 * Statuses of answers that give a client a package: the whole file, a range, or the address of the object store
 * (`POOL_REDIRECT`). 304 and HEAD give none.
 */
export const GIVES = { whole: 200, range: 206, redirect: 302 } as const

/** Whether the answer gave the client a file. */
export function gaveFile({ method, status }: LogLine): boolean {
  return method === 'GET' && (status === GIVES.whole || status === GIVES.range || status === GIVES.redirect)
}
