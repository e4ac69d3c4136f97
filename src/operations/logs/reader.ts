// Reads the files of the service log from their ends: the newest entries of all machines, with no whole file in memory.
import { createHash } from 'node:crypto'
import { open, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { LOG_LEVELS, type LogLevel } from '../../domain/log-levels.ts'
import { ifMissing } from '../../kernel/files.ts'
import { namesIn } from '../../kernel/files-below.ts'
import { LOG_FILE } from '../../kernel/log-file.ts'

export interface LogEntry {
  /** time and digest of the line: where a stream continues */
  id: string
  time: Date
  level: LogLevel
  name: string | null
  message: string
  request_id: string | null
  /** the other fields; null when they are too long to show */
  data: Record<string, unknown> | null
}

export interface LogFilter {
  /** the least severe level */
  level?: LogLevel | undefined
  /** part of the line, ignoring case */
  q?: string | undefined
  logger?: string | undefined
  since?: Date | undefined
}

const BLOCK_BYTES = 64 * 1024
/** Longer lines are not shown. */
const MOST_LINE_BYTES = 64 * 1024
const MOST_MESSAGE = 2_000
const MOST_DATA = 4_000
/** Limit for each machine, for a query that matches little: a second of work. */
const MOST_LINES = 200_000

/** The entry in a line; null when the line is not one of ours. */
export function entryOfLine(line: string): LogEntry | null {
  try {
    const {
      time,
      level,
      name = null,
      msg = '',
      request_id = null,
      ...data
    } = JSON.parse(line) as Record<string, unknown>
    const at = new Date(String(time))
    const known = LOG_LEVELS.find((one) => one === level)
    if (known === undefined || Number.isNaN(at.getTime())) return null
    return {
      id: `${at.getTime()}-${createHash('sha256').update(line).digest('hex').slice(0, 12)}`,
      ...{ time: at, level: known, message: typeof msg === 'string' ? msg.slice(0, MOST_MESSAGE) : '' },
      name: typeof name === 'string' ? name : null,
      request_id: typeof request_id === 'string' ? request_id : null,
      data: line.length > MOST_DATA ? null : data,
    }
  } catch {
    return null
  }
}

/** @param line of the entry @returns whether the entry passes the filter */
export function matches(filter: LogFilter, entry: LogEntry, line: string): boolean {
  if (filter.level && LOG_LEVELS.indexOf(entry.level) < LOG_LEVELS.indexOf(filter.level)) return false
  if (filter.logger !== undefined && entry.name !== filter.logger) return false
  if (filter.since && entry.time < filter.since) return false
  return filter.q === undefined || line.toLowerCase().includes(filter.q.toLowerCase())
}

/**
 * The newest entries that pass the filter, newest first.
 * @returns `complete`: false when older lines were not read
 */
export async function readLog(
  directory: string,
  filter: LogFilter,
  limit: number,
  signal?: AbortSignal,
): Promise<{ entries: LogEntry[]; complete: boolean }> {
  const machines = [...(await filesByHost(directory)).keys()].map((host) => reversed(directory, host, filter))
  try {
    const heads = await Promise.all(machines.map((one) => one.next()))
    const entries: LogEntry[] = []
    let complete = true
    while (entries.length < limit && !signal?.aborted) {
      let newest = -1
      for (const [i, { done, value }] of heads.entries())
        if (!done && (newest < 0 || value.time > (heads[newest]!.value as LogEntry).time)) newest = i
      if (newest < 0) break
      entries.push(heads[newest]!.value as LogEntry)
      heads[newest] = await machines[newest]!.next()
    }
    for (const { done, value } of heads) if (!done || !value) complete = false
    return { entries, complete }
  } finally {
    for (const one of machines) await one.return(true)
  }
}

/** Names of the files of each machine, the newest first. */
export async function filesByHost(directory: string): Promise<Map<string, string[]>> {
  const names = await namesIn(directory)
  const found = new Map<string, string[]>()
  for (const name of names.sort().reverse()) {
    const [, host, rotated] = LOG_FILE.exec(name) ?? []
    if (host === undefined) continue
    const files = found.get(host) ?? []
    if (rotated === undefined) files.unshift(name)
    else files.push(name)
    found.set(host, files)
  }
  return found
}

/** Matching entries of one machine, newest first. Returns false when it stopped before it reached the first line. */
async function* reversed(directory: string, host: string, filter: LogFilter): AsyncGenerator<LogEntry, boolean> {
  let left = MOST_LINES
  for await (const file of filesFromEnd(directory, host)) {
    for await (const line of linesFromEnd(file)) {
      if (left-- === 0) return false
      const entry = entryOfLine(line)
      if (!entry) continue
      // Lines of several processes may be some seconds out of order.
      if (filter.since && entry.time.getTime() < filter.since.getTime() - 60_000) return true
      if (matches(filter, entry, line)) yield entry
    }
  }
  return true
}

/**
 * The open files of one machine, newest first; each is closed when the next is requested. The current file is opened
 * before the rotated ones are listed, so a file that was rotated before that is listed.
 */
async function* filesFromEnd(directory: string, host: string): AsyncGenerator<FileHandle> {
  const name = `service-${host}.log`
  const current = await openIfThere(join(directory, name))
  let rotated: string[]
  try {
    const listed = ((await filesByHost(directory)).get(host) ?? []).filter((one) => one !== name)
    rotated = current ? await olderThan(current, directory, listed) : listed
    if (current) yield current
  } finally {
    await current?.close()
  }
  for (const one of rotated) {
    const file = await openIfThere(join(directory, one))
    if (!file) continue
    try {
      yield file
    } finally {
      await file.close()
    }
  }
}

/** The files older than this one, in the order of names; the file is recognized by its inode. All when it is not rotated yet. */
async function olderThan(file: FileHandle, directory: string, names: readonly string[]): Promise<string[]> {
  const { ino } = await file.stat()
  const inodes = await Promise.all(names.map((one) => stat(join(directory, one)).catch(ifMissing(null))))
  return names.slice(inodes.findIndex((one) => one?.ino === ino) + 1)
}

const openIfThere = (path: string) => open(path, 'r').catch(ifMissing(null))

/** Whole lines from the last to the first, in blocks. */
export async function* linesFromEnd(file: FileHandle): AsyncGenerator<string> {
  let at = (await file.stat()).size
  /** the beginning of the line whose end was read; null while the line is too long */
  let rest: Buffer | null = Buffer.alloc(0)
  let isEnd = true
  while (at > 0) {
    const length = Math.min(BLOCK_BYTES, at)
    at -= length
    const block = Buffer.alloc(length)
    const { bytesRead } = await file.read(block, 0, length, at)
    let end = bytesRead
    for (;;) {
      const feed = end > 0 ? block.lastIndexOf(10, end - 1) : -1
      if (feed < 0) break
      const line: Buffer | null = rest && Buffer.concat([block.subarray(feed + 1, end), rest])
      // Text after the last line feed is a line that is still being written.
      if (line && line.length > 0 && !isEnd) yield line.toString('utf8')
      isEnd = false
      rest = Buffer.alloc(0)
      end = feed
    }
    if (rest !== null) rest = rest.length + end > MOST_LINE_BYTES ? null : Buffer.concat([block.subarray(0, end), rest])
  }
  if (rest !== null && rest.length > 0 && !isEnd) yield rest.toString('utf8')
}
