// From a published name to what is sent for it now: bytes from memory, or an open file. Knows no HTTP message.
import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { createSemaphore } from '../kernel/semaphore.ts'
import { createBodyCache } from './body-cache.ts'
import { kindOf } from './file-kinds.ts'
import { isSameState, type Representation, type SharedFile } from '../http-files/representation.ts'
import { createCachedFile, representationNow, type CachedFile } from './cached-file.ts'
import { createOpenFiles } from './open-files.ts'
import type { PublishedTree } from './published-tree.ts'
import type { Located } from './request-path.ts'

type Answer = Representation | null

export interface Representations {
  /**
   * What the name stands for now: never older than the moment of the call. Answers at once when the file is in memory or
   * open already. A `file` that comes with the answer must be released.
   * @param observedMs the time of the call, since 1970
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
  /** the state that was seen before the read began */
  stats: BigIntStats
  file: Promise<CachedFile | null>
}

/** Loads under way at once: each may hold a file of the largest kept size beyond the cache's own limit. */
const LOADS_AT_ONCE = 8
/** A name that changes faster than it can be read is given up after this many tries. */
const TRIES = 10
const OPEN_FILES = { count: 64, idleMs: 5_000 }

/** @param onError for files that could not be closed: nobody waits for it */
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
    const known = small.get(file.path)
    // The link first: should a flip come between, the new file gets too old a date and is sent once more, never kept too long.
    const flippedAt = known?.flipLink ? tree.flippedAt(known.flipLink) : 0
    const stats = tree.look(file)
    if (!stats) {
      if (known) small.delete(file.path)
      return null
    }
    if (known && isSameState(known.stats, stats)) return representationNow(known, flippedAt, observedMs)
    if (Number(stats.size) <= limits.fileBytes) return load(file, stats, observedMs, triesLeft)
    const open = large.take(file.path, stats)
    // The link after the file here: a flip between the two is then dated too new, which sends too much, not too little.
    return open
      ? representationNow(open, open.flipLink ? tree.flippedAt(open.flipLink) : 0, observedMs)
      : openLarge(file, observedMs)
  }

  /** Everybody who saw the same state shares one read of it; who saw another state never gets this one. */
  const load = async (file: Located, stats: BigIntStats, observedMs: number, triesLeft: number): Promise<Answer> => {
    if (triesLeft === 0) throw new Error(`${file.path} changes faster than it can be read`)
    let shared = loading.get(file.path)
    if (!shared || !isSameState(shared.stats, stats)) {
      shared = { stats, file: limited(() => read(file, observedMs)) }
      loading.set(file.path, shared)
      forgetWhenDone(file.path, shared)
    }
    const cached = await shared.file
    if (cached && isSameState(cached.stats, stats)) return representationNow(cached, cached.flippedAt, observedMs)
    // Unreadable although unchanged: it lies in no published place. Otherwise it changed meanwhile.
    const now = tree.look(file)
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
    const flip = flipOf(file)
    const opened = await tree.open(file)
    if (!opened) return null
    const { handle, stats } = opened
    try {
      if (Number(stats.size) > limits.fileBytes) return null
      const body = await readWhole(handle, Number(stats.size))
      // A file written to in place while it was read would be torn.
      if (!body || !isSameState(stats, await handle.stat({ bigint: true }))) return null
      const cached = createCachedFile(
        kindOf(file.path, file.mount.format),
        stats,
        flip,
        { body, file: null },
        observedMs,
      )
      small.set(file.path, cached, body.byteLength)
      return cached
    } finally {
      await handle.close()
    }
  }

  const openLarge = async (file: Located, observedMs: number): Promise<Answer> => {
    const flip = flipOf(file)
    const opened = await tree.open(file)
    if (!opened) return null
    const { handle, stats } = opened
    const keep = (shared: SharedFile) =>
      createCachedFile(kindOf(file.path, file.mount.format), stats, flip, { body: null, file: shared }, observedMs)
    return large.share(file.path, stats, handle, keep).representation
  }

  const flipOf = (file: Located) => {
    const link = kindOf(file.path, file.mount.format).immutable ? null : tree.flipLink(file)
    return { link, at: link ? tree.flippedAt(link) : 0 }
  }

  return { find: (file, observedMs) => attempt(file, observedMs, TRIES), close: () => large.close() }
}

/** null when the file turned out shorter than its statistics said */
async function readWhole(handle: FileHandle, sizeBytes: number): Promise<Buffer | null> {
  // Not from the shared pool: a slice of it would keep 8 KiB alive for each small file.
  const body = Buffer.allocUnsafeSlow(sizeBytes)
  let filled = 0
  while (filled < sizeBytes) {
    const { bytesRead } = await handle.read(body, filled, sizeBytes - filled, filled)
    if (bytesRead === 0) return null
    filled += bytesRead
  }
  return body
}
