// Small files kept in memory, the least recently used given up first. Knows neither paths' meaning nor whether a file is still current.

export interface BodyCache<T extends { body: Buffer }> {
  get(key: string): T | undefined
  /** Replaces what is there under the key; does nothing when the body alone exceeds the limit. */
  set(key: string, value: T): void
  delete(key: string): void
  readonly sizeBytes: number
}

/** What an entry costs beside its body: key, statistics, headers. Measured roughly; keeps a million tiny files bounded. */
const ENTRY_OVERHEAD_BYTES = 2048

export function createBodyCache<T extends { body: Buffer }>(limitBytes: number): BodyCache<T> {
  // A Map iterates in order of insertion: re-inserting on use makes the first key the least recently used.
  const entries = new Map<string, T>()
  let sizeBytes = 0

  const remove = (key: string, value: T): void => {
    entries.delete(key)
    sizeBytes -= value.body.byteLength + ENTRY_OVERHEAD_BYTES
  }

  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      const old = entries.get(key)
      if (old !== undefined) remove(key, old)
      const cost = value.body.byteLength + ENTRY_OVERHEAD_BYTES
      if (cost > limitBytes) return
      entries.set(key, value)
      sizeBytes += cost
      for (const [eldest, held] of entries) {
        if (sizeBytes <= limitBytes) break
        remove(eldest, held)
      }
    },
    delete(key) {
      const value = entries.get(key)
      if (value !== undefined) remove(key, value)
    },
    get sizeBytes() {
      return sizeBytes
    },
  }
}
