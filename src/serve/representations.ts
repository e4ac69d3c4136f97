// From a published name to what is sent for it now: bytes from memory or an open file, with its validators. Knows no HTTP message.
import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { createLimiter } from '../kernel/serial.ts'
import { createBodyCache } from './body-cache.ts'
import { validatorsOf, type Validators } from './conditions.ts'
import { fileHeaders, type FileHeaders } from './file-headers.ts'
import { kindOf, type FileKind } from './file-kinds.ts'
import { isSameState, type PublishedTree } from './published-tree.ts'
import type { Located } from './request-path.ts'

/** One state of one file. With `handle`, whoever asked for it must close it. */
export interface Representation {
  kind: FileKind
  sizeBytes: number
  validators: Validators
  headers: FileHeaders
  body: Buffer | null
  handle: FileHandle | null
}

export interface Representations {
  /**
   * What the name stands for now: never older than the moment of the call. Answers at once when the file is in memory.
   * @param observedMs the time of the call, since 1970
   */
  find(file: Located, observedMs: number): Representation | null | Promise<Representation | null>
}

export interface MemoryLimits {
  totalBytes: number
  /** larger files are read from the open file for each client */
  fileBytes: number
}

/** What is remembered of a small file; its validators age, so they are remembered with the time they hold for. */
interface Held {
  stats: BigIntStats
  flipLink: string | null
  flippedAt: number
  body: Buffer
  shown: Representation
}

interface Loading {
  /** the state that was seen before the read began */
  stats: BigIntStats
  held: Promise<Held | null>
}

/** Loads under way at once: each may hold a file of the largest kept size beyond the cache's own limit. */
const LOADS_AT_ONCE = 8
/** A name that changes faster than it can be read is given up after this many tries. */
const TRIES = 10

export function createRepresentations(tree: PublishedTree, limits: MemoryLimits): Representations {
  const cache = createBodyCache<Held>(limits.totalBytes)
  const loading = new Map<string, Loading>()
  const limited = createLimiter(LOADS_AT_ONCE)

  type Answer = Representation | null

  const attempt = (file: Located, observedMs: number, triesLeft: number): Answer | Promise<Answer> => {
    const known = cache.get(file.path)
    // The link first: should a flip come between, the new file gets too old a date and is sent once more, never kept too long.
    const flippedAt = known?.flipLink ? tree.flippedAt(known.flipLink) : 0
    const stats = tree.look(file)
    if (!stats) {
      if (known) cache.delete(file.path)
      return null
    }
    if (known && isSameState(known.stats, stats)) return current(known, flippedAt, observedMs)
    if (Number(stats.size) > limits.fileBytes) return openLarge(file, observedMs)
    return load(file, stats, observedMs, triesLeft)
  }

  const current = (held: Held, flippedAt: number, observedMs: number): Representation => {
    if (held.shown.validators.settled && held.flippedAt === flippedAt) return held.shown
    held.flippedAt = flippedAt
    held.shown = { ...held.shown, ...dated(held.stats, held.shown.kind, flippedAt, observedMs) }
    return held.shown
  }

  /** Everybody who saw the same state shares one read of it; who saw another state never gets this one. */
  const load = async (file: Located, stats: BigIntStats, observedMs: number, triesLeft: number): Promise<Answer> => {
    if (triesLeft === 0) throw new Error(`${file.path} changes faster than it can be read`)
    let shared = loading.get(file.path)
    if (!shared || !isSameState(shared.stats, stats)) {
      shared = { stats, held: limited(() => read(file, observedMs)) }
      loading.set(file.path, shared)
      forgetWhenDone(file.path, shared)
    }
    const held = await shared.held
    if (held && isSameState(held.stats, stats)) return current(held, held.flippedAt, observedMs)
    // Unreadable although unchanged: it lies in no published place. Otherwise it changed meanwhile.
    const now = tree.look(file)
    if (!held && now && isSameState(now, stats)) return null
    return attempt(file, observedMs, triesLeft - 1)
  }

  const forgetWhenDone = (path: string, shared: Loading): void => {
    const forget = () => {
      if (loading.get(path) === shared) loading.delete(path)
    }
    shared.held.then(forget, forget)
  }

  const read = async (file: Located, observedMs: number): Promise<Held | null> => {
    const flipLink = linkThatDates(file)
    const flippedAt = flipLink ? tree.flippedAt(flipLink) : 0
    const opened = await tree.open(file)
    if (!opened) return null
    try {
      if (Number(opened.stats.size) > limits.fileBytes) return null
      const body = await readWhole(opened.handle, Number(opened.stats.size))
      // A file written to in place while it was read would be torn.
      if (!body || !isSameState(opened.stats, await opened.handle.stat({ bigint: true }))) return null
      const shown = represent(file, opened.stats, flippedAt, observedMs, { body, handle: null })
      const held = { stats: opened.stats, flipLink, flippedAt, body, shown }
      cache.set(file.path, held)
      return held
    } finally {
      await opened.handle.close()
    }
  }

  const openLarge = async (file: Located, observedMs: number): Promise<Representation | null> => {
    const flipLink = linkThatDates(file)
    const flippedAt = flipLink ? tree.flippedAt(flipLink) : 0
    const opened = await tree.open(file)
    if (!opened) return null
    return represent(file, opened.stats, flippedAt, observedMs, { body: null, handle: opened.handle })
  }

  const linkThatDates = (file: Located): string | null => (kindOf(file.path).immutable ? null : tree.flipLink(file))

  return { find: (file, observedMs) => attempt(file, observedMs, TRIES) }
}

function represent(
  file: Located,
  stats: BigIntStats,
  flippedAt: number,
  observedMs: number,
  source: Pick<Representation, 'body' | 'handle'>,
): Representation {
  const kind = kindOf(file.path)
  return { kind, sizeBytes: Number(stats.size), ...dated(stats, kind, flippedAt, observedMs), ...source }
}

/**
 * Validators of a file. What stands under an index's name changes when its link is replaced, however old the file behind
 * it; a package keeps its own date, so that an interrupted download resumes across a flip.
 */
function dated(stats: BigIntStats, kind: FileKind, flippedAt: number, observedMs: number) {
  const ownMs = kind.immutable ? Number(stats.mtimeMs) : Math.max(Number(stats.mtimeMs), Number(stats.ctimeMs))
  const etag = `"${stats.ino.toString(36)}-${stats.size.toString(36)}-${stats.mtimeNs.toString(36)}"`
  const validators = validatorsOf(etag, Math.max(ownMs, flippedAt), observedMs)
  return { validators, headers: fileHeaders(kind, Number(stats.size), validators, observedMs) }
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
