// One line of an access log in nginx's "combined" format, with whatever a log_format of one's own adds after it.
import { isIP } from 'node:net'

/** A request that was answered, as its line says. */
export interface LogLine {
  /** of the client */
  address: string
  /** seconds since 1970 */
  at: number
  method: string
  /** as it was sent, escaped by the logger */
  target: string
  status: number
  bytes: number
  /** at most 200 characters; `-` for none */
  agent: string
}

/** Longest line that is looked at: nginx takes 32 KiB of request head, and writes a byte as four characters. */
export const MOST_LINE_BYTES = 160 * 1024
const MOST_AGENT_CHARS = 200

/**
 * Quotes and control characters of clients are escaped by nginx, and by us, so the first quote is the log's own, and what a
 * client sends cannot end a field. The second token is the host of Apache's "vhost_combined".
 */
const COMBINED =
  /^(?:[\w.:-]+ )?([0-9a-fA-F.:]{2,45}) - [^"]{0,1000}\[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)\] "([^"]*)" (\d{3}) (\d{1,15}) "[^"]*" "([^"]*)"(?: |$)/

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** @returns null for a line that is of another format, or has a request that is none */
export function parseLine(line: string): LogLine | null {
  const match = COMBINED.exec(line)
  if (!match) return null
  const [, address, day, month, year, hour, minute, second, sign, zoneHours, zoneMinutes, request] = match as string[]
  const monthIndex = MONTHS.indexOf(month as string)
  if (monthIndex < 0 || !isIP(address as string)) return null
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60 * (sign === '-' ? -1 : 1)
  const local = Date.UTC(Number(year), monthIndex, Number(day), Number(hour), Number(minute), Number(second)) / 1000
  // nginx writes what it could not read as it came: a TLS greeting, an empty line.
  const [method, target] = /^([A-Z]{1,20}) (\S+) HTTP\/\d(?:\.\d)?$/.exec(request as string)?.slice(1) ?? ['', '']
  return {
    address: address as string,
    at: local - offset,
    method: method as string,
    target: target as string,
    status: Number(match[12]),
    bytes: Number(match[13]),
    agent: (match[14] as string).slice(0, MOST_AGENT_CHARS),
  }
}

/**
 * Statuses that give a client a package: whole, a range, or the address of the object store (`POOL_REDIRECT`). 304 and HEAD
 * give none.
 */
export const GIVES = { whole: 200, range: 206, redirect: 302 } as const

/** Whether the request was for a file, and the answer gave it. */
export function gaveFile({ method, status }: LogLine): boolean {
  return method === 'GET' && (status === GIVES.whole || status === GIVES.range || status === GIVES.redirect)
}
