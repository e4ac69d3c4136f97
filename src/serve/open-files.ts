// Keeps large files open between requests, so that a range costs one read instead of six thread pool operations.
import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { isSameState, type SharedFile } from './files/representation.ts'

export interface OpenFiles<T> {
  /** The value of the key if its file is unchanged. The caller must release the file. */
  take(key: string, stats: BigIntStats): T | null
  /** Stores a newly opened file for the caller and others. The caller must release it. */
  share(key: string, stats: BigIntStats, handle: FileHandle, describe: (file: SharedFile) => T): T
  /** Closes unused files immediately and the others when they are released. */
  close(): void
}

interface Entry<T> {
  stats: BigIntStats
  value: T
  users: number
  /** since the last sweep */
  wasUsed: boolean
  retired: boolean
  handle: FileHandle
}

export interface OpenFileLimits {
  count: number
  /** an unused file is closed after one to two times this, in ms; a removed file occupies disk space until it is closed */
  idleMs: number
}

export function createOpenFiles<T>(limits: OpenFileLimits, onError: (error: unknown) => void): OpenFiles<T> {
  const entries = new Map<string, Entry<T>>()
  let sweeping: NodeJS.Timeout | null = null

  const closeIfUnused = (entry: Entry<T>): void => {
    if (entry.retired && entry.users === 0) entry.handle.close().catch(onError)
  }

  const retire = (key: string, entry: Entry<T>): void => {
    entries.delete(key)
    entry.retired = true
    closeIfUnused(entry)
  }

  const release = (entry: Entry<T>): void => {
    entry.users--
    closeIfUnused(entry)
  }

  const sweep = (): void => {
    for (const [key, entry] of entries) {
      if (entry.users === 0 && !entry.wasUsed) retire(key, entry)
      entry.wasUsed = false
    }
    sweeping = null
    if (entries.size > 0) sweepLater()
  }

  const sweepLater = (): void => {
    sweeping ??= setTimeout(sweep, limits.idleMs).unref()
  }

  return {
    take(key, stats) {
      const entry = entries.get(key)
      if (!entry) return null
      if (!isSameState(entry.stats, stats)) {
        retire(key, entry)
        return null
      }
      entry.users++
      entry.wasUsed = true
      return entry.value
    },
    share(key, stats, handle, describe) {
      const old = entries.get(key)
      if (old) retire(key, old)
      for (const [eldest, entry] of entries) {
        if (entries.size < limits.count) break
        retire(eldest, entry)
      }
      const value = describe({ handle, release: () => release(entry) })
      const entry: Entry<T> = { stats, value, users: 1, wasUsed: true, retired: false, handle }
      entries.set(key, entry)
      sweepLater()
      return value
    },
    close() {
      if (sweeping) clearTimeout(sweeping)
      for (const [key, entry] of entries) retire(key, entry)
    },
  }
}
