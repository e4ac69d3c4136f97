// The access log of a listener, in nginx's "combined" format, so that every tool that reads nginx's logs reads ours.
import { open, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../kernel/clock.ts'
import { ensureDirectory, isMissing } from '../kernel/files.ts'
import type { Log } from '../kernel/log.ts'
import { createShared } from '../kernel/shared.ts'

export interface Access {
  address: string
  /** the request line: `GET /repos/gpg.key HTTP/1.1`; empty when it could not be parsed */
  request: string
  status: number
  /** bytes of the body written to the connection */
  bytes: number
  referer: string | undefined
  userAgent: string | undefined
}

export interface AccessLog {
  /** Never blocks and never throws: serving goes on with a full disk. */
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
  /** a line waits at most this long, in ms */
  flushEveryMs?: number
  flushAtBytes?: number
}

/** When the disk cannot be written, lines beyond this size are dropped and counted. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024

/** Several times the longest line. */
const PIECE_BYTES = 256 * 1024

export function createAccessLog({
  path,
  clock,
  log,
  flushEveryMs = 1000,
  flushAtBytes = 64 * 1024,
}: AccessLogDeps): AccessLog {
  let waiting = ''
  let dropped = 0
  let timer: NodeJS.Timeout | null = null
  let file: FileHandle | null = null
  let failing = false
  let closed = false
  const time = createTimeField()

  const write = async (): Promise<void> => {
    if (timer) clearTimeout(timer)
    timer = null
    if (waiting === '') return
    try {
      if (file && !(await hasItsName(file, path))) {
        const old = file
        file = null
        await old.close()
      }
      file ??= await openForAppending(path)
      const lines = waiting
      waiting = ''
      for (const piece of wholeLines(lines)) await file.appendFile(piece, 'latin1')
      if (dropped > 0) log.warn({ path, dropped }, 'access log lines were dropped while the file could not be written')
      dropped = 0
      failing = false
    } catch (error) {
      if (!failing) log.error({ err: error, path }, 'the access log cannot be written')
      failing = true
    }
  }
  // Callers during a write share the next write, which includes everything recorded until then.
  const flush = createShared(write)

  return {
    record(access) {
      if (closed) return
      const line = combined(access, time(clock.now()))
      if (waiting.length + line.length > MOST_WAITING_BYTES) {
        dropped++
        return
      }
      waiting += line
      if (waiting.length >= flushAtBytes && !failing) void flush()
      else timer ??= setTimeout(() => void flush(), flushEveryMs).unref()
    },
    flush,
    async close() {
      closed = true
      await flush()
      await file?.close()
      file = null
    },
  }
}

/**
 * Several processes append to one file. A piece is written by one system call, which appends it as a whole; Node splits
 * what is larger than 512 KiB.
 */
function* wholeLines(lines: string): Generator<string> {
  for (let from = 0; from < lines.length;) {
    const end = lines.length - from <= PIECE_BYTES ? lines.length : lines.lastIndexOf('\n', from + PIECE_BYTES) + 1
    yield lines.slice(from, end)
    from = end
  }
}

/** Whether the path still names this file: it may have been rotated or removed. */
async function hasItsName(file: FileHandle, path: string): Promise<boolean> {
  const [ours, named] = await Promise.all([file.stat(), stat(path).catch(nullIfMissing)])
  return named !== null && ours.ino === named.ino && ours.dev === named.dev
}

async function openForAppending(path: string): Promise<FileHandle> {
  await ensureDirectory(dirname(path))
  return open(path, 'a', 0o640)
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}

function combined(access: Access, time: string): string {
  const { address, request, status, bytes, referer, userAgent } = access
  return `${address} - - [${time}] "${escaped(request)}" ${status} ${bytes} "${escaped(referer || '-')}" "${escaped(userAgent || '-')}"\n`
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
