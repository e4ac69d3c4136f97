// A memory-bounded cache of small files with approximate least-recently-used eviction.

export interface BodyCache<T> {
  get(key: string): T | undefined
  /** Replaces the entry of the key; stores nothing when the body alone exceeds the limit. */
  set(key: string, value: T, bodyBytes: number): void
  delete(key: string): void
  readonly sizeBytes: number
}

/** Estimated memory of an entry beside its body: key, statistics, headers. Bounds the cache with a million tiny files. */
const ENTRY_OVERHEAD_BYTES = 2048

interface Entry<T> {
  value: T
  cost: number
  used: boolean
}

export function createBodyCache<T>(limitBytes: number): BodyCache<T> {
  // A Map iterates in insertion order. An entry that was used since its insertion moves to the end instead of out ("second
  // chance"), so that use costs one flag. Re-inserting on each use was the slowest line of a request after system calls.
  const entries = new Map<string, Entry<T>>()
  let sizeBytes = 0

  const remove = (key: string, entry: Entry<T>): void => {
    entries.delete(key)
    sizeBytes -= entry.cost
  }

  const makeRoom = (): void => {
    // The loop ends: an entry moved to the end is reached again without its flag.
    for (const [key, entry] of entries) {
      if (sizeBytes <= limitBytes) return
      if (entry.used) {
        entry.used = false
        entries.delete(key)
        entries.set(key, entry)
      } else {
        remove(key, entry)
      }
    }
  }

  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entry.used = true
      return entry.value
    },
    set(key, value, bodyBytes) {
      const old = entries.get(key)
      if (old !== undefined) remove(key, old)
      const cost = bodyBytes + ENTRY_OVERHEAD_BYTES
      if (cost > limitBytes) return
      entries.set(key, { value, cost, used: false })
      sizeBytes += cost
      makeRoom()
    },
    delete(key) {
      const entry = entries.get(key)
      if (entry !== undefined) remove(key, entry)
    },
    get sizeBytes() {
      return sizeBytes
    },
  }
}
