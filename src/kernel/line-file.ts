// Appends lines to a file in the background: never blocks, never throws, and notices when the file was renamed.
//
// sonic-boom 4.2 continues to write to a file that another process renamed, and its flushSync throws when the file cannot be
// opened. A check of the file before each write and errors that end nothing would need as much code with it as there is here.
import { appendFileSync } from 'node:fs'
import { open, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ensureDirectory, ifMissing } from './files.ts'
import { createShared } from './shared.ts'

export interface LineFile {
  /** @param line including its line feed */
  append(line: string): void
  /** Resolves when everything appended before the call is written or dropped. */
  flush(): Promise<void>
  /** Writes waiting lines before it returns, for a process that exits. Never throws. */
  flushNow(): void
  /** Flushes and closes the file; later lines are dropped. */
  close(): Promise<void>
}

export interface LineFileDeps {
  path: string
  encoding: 'latin1' | 'utf8'
  mode: number
  /** a line waits at most this long, in ms */
  flushEveryMs: number
  flushAtBytes: number
  /** called once when writing begins to fail */
  onFailure(error: unknown): void
  /** called when writing works again after lines were dropped */
  onDropped(count: number): void
  /** Called with the open file before each write; true when the file was renamed away. */
  rotate?(file: FileHandle): Promise<boolean>
}

/** When the disk refuses writes, lines beyond this size are dropped and counted. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024

/** Several times the longest line. */
const PIECE_BYTES = 256 * 1024

export function createLineFile(deps: LineFileDeps): LineFile {
  const { path, encoding, mode, flushEveryMs, flushAtBytes } = deps
  let waiting = ''
  let dropped = 0
  let timer: NodeJS.Timeout | null = null
  let file: FileHandle | null = null
  let failing = false
  let closed = false

  const closeFile = async () => {
    const old = file
    file = null
    await old?.close()
  }

  const write = async (): Promise<void> => {
    if (timer) clearTimeout(timer)
    timer = null
    if (waiting === '') return
    try {
      if (file && !(await hasItsName(file, path))) await closeFile()
      file ??= await openForAppending(path, mode)
      if (deps.rotate && (await deps.rotate(file))) {
        await closeFile()
        file = await openForAppending(path, mode)
      }
      const lines = waiting
      waiting = ''
      for (const piece of wholeLines(lines)) await file.appendFile(piece, encoding)
      if (dropped > 0) deps.onDropped(dropped)
      dropped = 0
      failing = false
    } catch (error) {
      if (!failing) deps.onFailure(error)
      failing = true
    }
  }
  // Callers during a write share the next write, which includes every line up to then.
  const flush = createShared(write)

  return {
    append(line) {
      if (closed) return
      if (waiting.length + line.length > MOST_WAITING_BYTES) {
        dropped++
        return
      }
      waiting += line
      if (waiting.length >= flushAtBytes && !failing) void flush()
      else timer ??= setTimeout(() => void flush(), flushEveryMs).unref()
    },
    flush,
    flushNow() {
      try {
        if (waiting !== '') appendFileSync(path, waiting, { encoding, mode })
        waiting = ''
      } catch (error) {
        deps.onFailure(error)
      }
    },
    async close() {
      closed = true
      await flush()
      await closeFile()
    },
  }
}

/**
 * Several processes append to one file. One system call writes a piece and appends it as a whole; Node splits
 * pieces larger than 512 KiB.
 */
function* wholeLines(lines: string): Generator<string> {
  for (let from = 0; from < lines.length;) {
    const cut = lines.lastIndexOf('\n', from + PIECE_BYTES) + 1
    const end = lines.length - from <= PIECE_BYTES ? lines.length : cut > from ? cut : from + PIECE_BYTES
    yield lines.slice(from, end)
    from = end
  }
}

/** Whether the path still names this file: it may have been rotated or removed. */
async function hasItsName(file: FileHandle, path: string): Promise<boolean> {
  const [ours, named] = await Promise.all([file.stat(), stat(path).catch(ifMissing(null))])
  return named !== null && ours.ino === named.ino && ours.dev === named.dev
}

async function openForAppending(path: string, mode: number): Promise<FileHandle> {
  await ensureDirectory(dirname(path))
  return open(path, 'a', mode)
}
