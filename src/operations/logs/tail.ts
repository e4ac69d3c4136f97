// Follows the files of the service log of all machines while somebody listens.
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { ifMissing } from '../../kernel/files.ts'
import { createShared } from '../../kernel/shared.ts'
import { entryOfLine, filesByHost, type LogEntry } from './reader.ts'

export interface LogListener {
  receive(entry: LogEntry, line: string): void
  /** lines that came faster than they can be read */
  dropped(count: number): void
  /** The service stops. */
  end(): void
}

export interface LogTail {
  /** Resolves when lines that are written from now on will be received. @returns a function that stops listening */
  listen(listener: LogListener): Promise<() => void>
  stop(): void
}

/** Read of a file at a time; what came beyond it since the last look is left out. */
const MOST_BYTES = 1024 * 1024

export function createLogTail(deps: { directory: string; onError(error: unknown): void; everyMs?: number }): LogTail {
  const { directory, onError, everyMs = 1_000 } = deps
  const listeners = new Set<LogListener>()
  /** how far each file was read, by its inode, which stays when it is rotated; null before the first look */
  let read: Map<number, number> | null = null
  /** those of the look before that the last one did not find: a file that is rotated meanwhile has another name in the next */
  let unseen = new Map<number, number>()
  let timer: NodeJS.Timeout | null = null
  let stopped = false

  const names = async () => [...(await filesByHost(directory)).values()].flat().reverse()

  const look = createShared(async () => {
    const before = read
    const now = new Map<number, number>()
    const listed = await names()
    for (const name of listed) {
      // A rotation gives the name to another file, or to none for a moment: all that is asked is asked of one open file.
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
    // A rotation during the first look hides what was written before it: the next look is the first again.
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
      // The first of them is the end of a line, and one stands for all that are left out.
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
