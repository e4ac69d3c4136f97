// Finds the current representation of a published name: bytes in memory or an open file. Knows no HTTP message.
import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { after } from '../kernel/at-once.ts'
import { createSemaphore } from '../kernel/semaphore.ts'
import { createBodyCache } from './body-cache.ts'
import { kindOfFile } from './file-kinds.ts'
import { isSameState, type Representation, type SharedFile } from './files/representation.ts'
import { createCachedFile, representationNow, type CachedFile } from './cached-file.ts'
import { createOpenFiles } from './open-files.ts'
import type { PublishedTree } from './published-tree.ts'
import { keyOf, type Located } from './request-path.ts'

type Answer = Representation | null

export interface Representations {
  /**
   * The current representation, never older than the call. Synchronous when the file is in memory or
   * already open, and on a local disk. The caller must release a `file`.
   * @param observedMs time of the call, in ms since 1970
   */
  find(file: Located, observedMs: number): Answer | Promise<Answer>
  /** Closes the files kept open. */
  close(): void
}

export interface MemoryLimits {
  totalBytes: number
  /** larger files are read from the open file for each client */
  fileBytes: number
}

interface Loading {
  /** the state before the read began */
  stats: BigIntStats
  file: Promise<CachedFile | null>
}

/** The state that a request found. */
interface Observation {
  /** when the known link was replaced */
  at: number
  stats: BigIntStats | null
  observedMs: number
  triesLeft: number
}

/** Files loaded at the same time; each may be as large as `fileBytes`, in addition to the cache. */
const LOADS_AT_ONCE = 8
/** Tries to read a file that changes during each read. */
const TRIES = 10
const OPEN_FILES = { count: 64, idleMs: 5_000 }

/** @param onError receives errors of closing files in the background */
export function createRepresentations(
  tree: PublishedTree,
  limits: MemoryLimits,
  onError: (error: unknown) => void,
): Representations {
  const small = createBodyCache<CachedFile>(limits.totalBytes)
  const large = createOpenFiles<CachedFile>(OPEN_FILES, onError)
  const loading = new Map<string, Loading>()
  const limited = createSemaphore(LOADS_AT_ONCE)

  const attempt = (file: Located, observedMs: number, triesLeft: number): Answer | Promise<Answer> => {
    const known = small.get(keyOf(file))
    // Reads the link first: after a flip in between, the new file has a date that is too old. It is then sent again, never kept.
    const flippedAt = known?.flipLink ? tree.flippedAt(known.flipLink) : 0
    return after(flippedAt, (at) =>
      after(tree.look(file), (stats) => choose(file, known, { at, stats, observedMs, triesLeft })),
    )
  }

  const choose = (
    file: Located,
    known: CachedFile | null | undefined,
    { at, stats, observedMs, triesLeft }: Observation,
  ): Answer | Promise<Answer> => {
    if (!stats) {
      if (known) small.delete(keyOf(file))
      return null
    }
    if (known && isSameState(known.stats, stats)) return representationNow(known, at, observedMs)
    if (Number(stats.size) <= limits.fileBytes) return load(file, stats, observedMs, triesLeft)
    const open = large.take(keyOf(file), stats)
    // Reads the link after the file: a flip in between gives a date that is too new, so a file is sent needlessly, never omitted.
    return open ? datedNow(open, observedMs) : openLarge(file, observedMs)
  }

  const datedNow = (open: CachedFile, observedMs: number): Answer | Promise<Answer> => {
    const at = open.flipLink ? tree.flippedAt(open.flipLink) : 0
    if (!(at instanceof Promise)) return representationNow(open, at, observedMs)
    return at.then(
      (known) => representationNow(open, known, observedMs),
      (error: unknown) => {
        open.representation.source.file?.release()
        throw error
      },
    )
  }

  /** Requests that saw the same state share one read; a request that saw another state never gets its result. */
  const load = async (file: Located, stats: BigIntStats, observedMs: number, triesLeft: number): Promise<Answer> => {
    if (triesLeft === 0) throw new Error(`${file.path} changes faster than it can be read`)
    let shared = loading.get(keyOf(file))
    if (!shared || !isSameState(shared.stats, stats)) {
      shared = { stats, file: limited(() => read(file, observedMs)) }
      loading.set(keyOf(file), shared)
      forgetWhenDone(keyOf(file), shared)
    }
    const cached = await shared.file
    if (cached && isSameState(cached.stats, stats)) return representationNow(cached, cached.flippedAt, observedMs)
    // Unchanged but unreadable means outside the published places. Otherwise it changed in the meantime.
    const now = await tree.look(file)
    if (!cached && now && isSameState(now, stats)) return null
    return attempt(file, observedMs, triesLeft - 1)
  }

  const forgetWhenDone = (path: string, shared: Loading): void => {
    const forget = () => {
      if (loading.get(path) === shared) loading.delete(path)
    }
    shared.file.then(forget, forget)
  }

  const read = async (file: Located, observedMs: number): Promise<CachedFile | null> => {
    const flip = await flipOf(file)
    const opened = await tree.open(file)
    if (!opened) return null
    const { handle, stats } = opened
    try {
      if (Number(stats.size) > limits.fileBytes) return null
      const body = await tree.inTime(() => readWhole(handle, Number(stats.size)))
      // A file that was written during the read would be inconsistent.
      if (!body || !isSameState(stats, await tree.inTime(() => handle.stat({ bigint: true })))) return null
      const cached = createCachedFile(kindOfFile(file), stats, flip, { body, file: null }, observedMs)
      small.set(keyOf(file), cached, body.byteLength)
      return cached
    } finally {
      await handle.close()
    }
  }

  const openLarge = async (file: Located, observedMs: number): Promise<Answer> => {
    const flip = await flipOf(file)
    const opened = await tree.open(file)
    if (!opened) return null
    const { handle, stats } = opened
    const keep = (shared: SharedFile) =>
      createCachedFile(kindOfFile(file), stats, flip, { body: null, file: shared }, observedMs)
    return large.share(keyOf(file), stats, handle, keep).representation
  }

  const flipOf = async (file: Located) => {
    const link = kindOfFile(file).immutable ? null : await tree.flipLink(file)
    return { link, at: link ? await tree.flippedAt(link) : 0 }
  }

  return { find: (file, observedMs) => attempt(file, observedMs, TRIES), close: () => large.close() }
}

/** @returns null when the file is shorter than its statistics */
async function readWhole(handle: FileHandle, sizeBytes: number): Promise<Buffer | null> {
  // Not from Node's shared buffer pool: each small file would keep 8 KiB of the pool in memory.
  const body = Buffer.allocUnsafeSlow(sizeBytes)
  let filled = 0
  while (filled < sizeBytes) {
    const { bytesRead } = await handle.read(body, filled, sizeBytes - filled, filled)
    if (bytesRead === 0) return null
    filled += bytesRead
  }
  return body
}
