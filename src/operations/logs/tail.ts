// Follows the files of the service log of all machines while somebody listens.
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { ifMissing } from '../../kernel/files.ts'
import { createShared } from '../../kernel/shared.ts'
import { entryOfLine, filesByHost, type LogEntry } from './reader.ts'

export interface LogListener {
  receive(entry: LogEntry, line: string): void
  /** lines were left out because they arrived faster than they can be read */
  dropped(count: number): void
  /** The service stops. */
  end(): void
}

export interface LogTail {
  /** Resolves when the listener will receive all lines written from now on. @returns a function that stops listening */
  listen(listener: LogListener): Promise<() => void>
  stop(): void
}

/** Most bytes of a file that are read at a time; what exceeds it since the last check is left out. */
const MOST_BYTES = 1024 * 1024

export function createLogTail(deps: { directory: string; onError(error: unknown): void; everyMs?: number }): LogTail {
  const { directory, onError, everyMs = 1_000 } = deps
  const listeners = new Set<LogListener>()
  /** how far each file was read, by its inode, which a rotation does not change; null before the first check */
  let read: Map<number, number> | null = null
  /** inodes that the last check did not find, but the one before did: a file rotated meanwhile has another name in the next */
  let unseen = new Map<number, number>()
  let timer: NodeJS.Timeout | null = null
  let stopped = false

  const names = async () => [...(await filesByHost(directory)).values()].flat().reverse()

  const look = createShared(async () => {
    const before = read
    const now = new Map<number, number>()
    const listed = await names()
    for (const name of listed) {
      // A rotation gives the name to another file, or to none for a moment, so all reads use one open file.
      const file = await open(join(directory, name), 'r').catch(ifMissing(null))
      if (!file) continue
      try {
        const { ino, size } = await file.stat()
        const from = before ? (before.get(ino) ?? unseen.get(ino) ?? 0) : size
        now.set(ino, from < size ? await sendLines(file, from, size) : size)
      } finally {
        await file.close()
      }
    }
    // A rotation during the first check would hide earlier lines: the next check is then the first again.
    if (!before && (await names()).join() !== listed.join()) return
    unseen = new Map([...(before ?? [])].filter(([inode]) => !now.has(inode)))
    read = now
  })

  /** @returns how far it read: up to the last whole line */
  async function sendLines(file: FileHandle, from: number, size: number): Promise<number> {
    const start = Math.max(from, size - MOST_BYTES)
    const block = Buffer.alloc(size - start)
    await file.read(block, 0, block.length, start)
    const end = block.lastIndexOf(10) + 1
    const lines = block.subarray(0, end).toString('utf8').split('\n').slice(0, -1)
    if (start > from) {
      // The first one is the end of a line; one drop is reported for everything that was left out.
      lines.shift()
      for (const one of listeners) one.dropped(1)
    }
    for (const line of lines) {
      const entry = entryOfLine(line)
      if (entry) for (const one of listeners) one.receive(entry, line)
    }
    return start + end
  }

  return {
    async listen(listener) {
      if (stopped) listener.end()
      listeners.add(listener)
      timer ??= setInterval(() => void look().catch(onError), everyMs).unref()
      while (read === null && !stopped) await look()
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0 || timer === null) return
        clearInterval(timer)
        timer = null
        read = null
      }
    },
    stop() {
      stopped = true
      if (timer) clearInterval(timer)
      for (const one of [...listeners]) one.end()
    },
  }
}
