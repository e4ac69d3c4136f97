// A cache of small files with limited memory; the least recently used one is evicted first.
import { LRUCache } from 'lru-cache'

export interface BodyCache<T> {
  get(key: string): T | undefined
  /** Replaces the entry of the key; stores nothing when the body alone exceeds the limit. */
  set(key: string, value: T, bodyBytes: number): void
  delete(key: string): void
  readonly sizeBytes: number
}

/** Estimated memory of an entry beside its body: key, statistics, headers. Limits the cache with a million tiny files. */
const ENTRY_OVERHEAD_BYTES = 2048

export function createBodyCache<T extends object>(limitBytes: number): BodyCache<T> {
  // 0 would mean no limit.
  const entries = new LRUCache<string, T>({ maxSize: Math.max(limitBytes, 1) })
  return {
    get: (key) => entries.get(key),
    set: (key, value, bodyBytes) => void entries.set(key, value, { size: bodyBytes + ENTRY_OVERHEAD_BYTES }),
    delete: (key) => void entries.delete(key),
    get sizeBytes() {
      return entries.calculatedSize
    },
  }
}
