// Sorts more lines than fit into memory: sorted runs in files, merged with a heap.
import { open, rm, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createFile } from '../../kernel/files.ts'
import { createPacer } from '../../kernel/pacer.ts'

/** Lines sorted at a time: 8,000 block the event loop for 8 ms. */
const RUN = 8_000
/** Files merged at a time; each has a buffer of `CHUNK` bytes. */
const FAN_IN = 128
const CHUNK = 64 * 1024
/** Lines yielded at a time. */
const BATCH = 1_000

/**
 * Yields all lines in order of their code units, in batches.
 * @param lines without line feeds
 * @param directory for the runs; merged runs are removed
 */
export async function* sortLines(
  lines: AsyncIterable<string> | Iterable<string>,
  directory: string,
): AsyncGenerator<string[]> {
  /** runs, by the number of merges of their lines */
  const levels: string[][] = [[]]
  const newRun = () => join(directory, randomBytes(6).toString('hex'))

  async function add(file: string, level: number): Promise<void> {
    const files = (levels[level] ??= [])
    files.push(file)
    if (files.length < FAN_IN) return
    levels[level] = []
    const merged = newRun()
    const target = await createFile(merged, 0o600)
    try {
      for await (const batch of merge(files)) await target.write(Buffer.from(batch.join('\n') + '\n'))
    } finally {
      await target.close()
    }
    for (const one of files) await rm(one)
    await add(merged, level + 1)
  }

  async function flush(run: string[]): Promise<void> {
    const file = newRun()
    await writeFile(file, run.sort().join('\n') + '\n')
    await add(file, 0)
  }

  let run: string[] = []
  const pace = createPacer()
  for await (const line of lines) {
    run.push(line)
    if (run.length < RUN) continue
    await flush(run)
    run = []
    await pace()
  }
  if (run.length > 0) await flush(run)
  yield* merge(levels.flat())
}

interface Source {
  lines: string[]
  at: number
  /** @returns false at the end of the file */
  refill(): Promise<boolean>
  close(): Promise<void>
}

async function* merge(files: readonly string[]): AsyncGenerator<string[]> {
  const sources = await Promise.all(files.map(openSource))
  const pace = createPacer()
  try {
    const heap: Source[] = []
    for (const source of sources) {
      if (await source.refill()) push(heap, source)
    }
    let batch: string[] = []
    for (let first = heap[0]; first; first = heap[0]) {
      batch.push(lineOf(first))
      first.at++
      if (first.at === first.lines.length && !(await first.refill())) removeFirst(heap)
      else sink(heap)
      if (batch.length < BATCH) continue
      yield batch
      batch = []
      await pace()
    }
    if (batch.length > 0) yield batch
  } finally {
    await Promise.all(sources.map((source) => source.close()))
  }
}

async function openSource(path: string): Promise<Source> {
  const file = await open(path)
  const buffer = Buffer.alloc(CHUNK)
  let rest = Buffer.alloc(0)
  const source: Source = {
    lines: [],
    at: 0,
    async refill() {
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, CHUNK)
        if (bytesRead === 0) return false
        const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
        const end = bytes.lastIndexOf(0x0a)
        rest = bytes.subarray(end + 1)
        // A line longer than the chunk.
        if (end === -1) continue
        source.lines = bytes.toString('utf8', 0, end).split('\n')
        source.at = 0
        return true
      }
    },
    close: () => file.close(),
  }
  return source
}

const lineOf = (source: Source) => source.lines[source.at] as string

function push(heap: Source[], source: Source): void {
  let at = heap.push(source) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (lineOf(heap[parent] as Source) <= lineOf(heap[at] as Source)) return
    swap(heap, at, parent)
    at = parent
  }
}

function removeFirst(heap: Source[]): void {
  const last = heap.pop() as Source
  if (heap.length === 0) return
  heap[0] = last
  sink(heap)
}

/** Moves the first down to its place after its line changed. */
function sink(heap: Source[]): void {
  let at = 0
  for (;;) {
    let least = at
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < heap.length && lineOf(heap[child] as Source) < lineOf(heap[least] as Source)) least = child
    }
    if (least === at) return
    swap(heap, at, least)
    at = least
  }
}

function swap(heap: Source[], a: number, b: number): void {
  ;[heap[a], heap[b]] = [heap[b] as Source, heap[a] as Source]
}
