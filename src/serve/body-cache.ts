// Small files kept in memory; what was not used for longest goes first, nearly. Knows neither paths' meaning nor whether a file is still current.

export interface BodyCache<T> {
  get(key: string): T | undefined
  /** Replaces what is there under the key; keeps nothing when the body alone exceeds the limit. */
  set(key: string, value: T, bodyBytes: number): void
  delete(key: string): void
  readonly sizeBytes: number
}

/** What an entry costs beside its body: key, statistics, headers. Measured roughly; keeps a million tiny files bounded. */
const ENTRY_OVERHEAD_BYTES = 2048

interface Entry<T> {
  value: T
  cost: number
  used: boolean
}

export function createBodyCache<T>(limitBytes: number): BodyCache<T> {
  // A Map iterates in order of insertion. An entry used since it was put in goes to the end instead of out ("second
  // chance"): use then costs a flag; re-inserting on each use was the dearest line of a request after the system calls.
  const entries = new Map<string, Entry<T>>()
  let sizeBytes = 0

  const remove = (key: string, entry: Entry<T>): void => {
    entries.delete(key)
    sizeBytes -= entry.cost
  }

  const makeRoom = (): void => {
    // An entry put back at the end is met again in the same loop, its chance spent: the loop ends.
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
