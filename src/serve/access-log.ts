// The access log of a listener, in nginx's "combined" format, so that every tool for nginx's logs can read it.
import { dirname, join } from 'node:path'
import type { Clock } from '../kernel/clock.ts'
import { createLineFile } from '../kernel/line-file.ts'
import type { Log } from '../kernel/log.ts'
import { createAccessLogSize } from './access-log-size.ts'
import type { Exchange } from './files/answers.ts'

export interface Access {
  address: string
  /** who signed in; left out for nobody */
  reader?: string | undefined
  /** the request line: `GET /repos/gpg.key HTTP/1.1`; empty when it could not be parsed */
  request: string
  status: number
  /** bytes of the body written to the connection */
  bytes: number
  referer: string | undefined
  userAgent: string | undefined
}

/** An answered request, once its connection is done with it. */
export function accessOf({ request, response, progress, reader }: Exchange, address: string): Access {
  return {
    address,
    reader,
    request: `${request.method} ${request.url} HTTP/${request.httpVersion}`,
    // nginx's status for a client that disconnected before the response began
    status: response.headersSent ? response.statusCode : 499,
    bytes: progress.bytes + (response.writableFinished ? progress.lastBytes : 0),
    referer: request.headers.referer,
    userAgent: request.headers['user-agent'],
  }
}

export interface AccessLog {
  /** Never blocks and never throws: serving continues with a full disk. */
  record(access: Access): void
  /** Resolves when everything recorded before the call is written or dropped. */
  flush(): Promise<void>
  /** Flushes and closes the file; later records are dropped. */
  close(): Promise<void>
}

export interface AccessLogDeps {
  path: string
  clock: Clock
  log: Log
  /** total of the file and all its rotated files */
  mostBytes: number
  /** a line waits at most this long, in ms */
  flushEveryMs?: number
  flushAtBytes?: number
}

export function createAccessLog({
  path,
  clock,
  log,
  mostBytes,
  flushEveryMs = 1000,
  flushAtBytes = 64 * 1024,
}: AccessLogDeps): AccessLog {
  const file = createLineFile({
    ...{ path, encoding: 'latin1', mode: 0o640, flushEveryMs, flushAtBytes },
    rotate: createAccessLogSize({
      ...{ path, clock, mostBytes },
      onDeleted: (name, bytes) =>
        log.warn(
          { path: join(dirname(path), name), bytes },
          'the oldest access log is deleted: all of them reached ACCESS_LOG_MB; what was not counted of it is in no statistics',
        ),
    }),
    onFailure: (error) => log.error({ err: error, path }, 'the access log cannot be written'),
    onDropped: (dropped) =>
      log.warn({ path, dropped }, 'access log lines were dropped while the file could not be written'),
  })
  const time = createTimeField()
  return {
    record: (access) => file.append(combined(access, time(clock.now()))),
    flush: file.flush,
    close: file.close,
  }
}

function combined(access: Access, time: string): string {
  const { address, reader, request, status, bytes, referer, userAgent } = access
  const user = reader === undefined ? '-' : escaped(reader)
  return `${address} - ${user} [${time}] "${escaped(withoutCredential(request))}" ${status} ${bytes} "${escaped(withoutCredential(referer || '-'))}" "${escaped(userAgent || '-')}"\n`
}

/** An address may contain a credential (apk), and a client may send it as it is: no log shows it. */
export function withoutCredential(text: string): string {
  return text.includes('@') ? text.replace(/(https?:\/\/)[^/@\s]*@/gi, '$1') : text
}

/** nginx's default escaping (`log_format escape=default`): `"`, `\` and bytes outside printable ASCII become `\xHH`. */
function escaped(text: string): string {
  if (!/[^\x20-\x21\x23-\x5b\x5d-\x7e]/.test(text)) return text
  return text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, (char) => {
    const byte = char.charCodeAt(0).toString(16).toUpperCase()
    return `\\x${byte.padStart(2, '0')}`
  })
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `21/Nov/2026:11:04:00 +0000`, rendered once a second. */
function createTimeField(): (now: Date) => string {
  let second = NaN
  let text = ''
  return (now) => {
    const current = Math.floor(now.getTime() / 1000)
    if (current !== second) {
      second = current
      const two = (n: number) => String(n).padStart(2, '0')
      const day = `${two(now.getUTCDate())}/${MONTHS[now.getUTCMonth()]}/${now.getUTCFullYear()}`
      text = `${day}:${two(now.getUTCHours())}:${two(now.getUTCMinutes())}:${two(now.getUTCSeconds())} +0000`
    }
    return text
  }
}
