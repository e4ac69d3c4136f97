// Which generation clients read a signed index and its signature from, and which clients wait for others. Pure.

/** The requests of a client for a pair; other requests do not belong to it. */
export type PairRequest = 'probe' | 'index' | 'signature' | 'key'

/** What the clients with one key are reading. Clients behind one address share a key. */
export interface Readings {
  /** the generation all of them read; its directory, relative to the repositories' directory */
  generation: string
  /** clients that asked for the headers of the index: the next request for the index may only test whether it changed */
  probes: number
  /** clients that have the index and want its signature, like dnf */
  indexFirst: number
  /** clients that had the index before the signature; a request for the key shows that they want the index again */
  paired: number
  /** clients that have the signature and want the key */
  signatureFirst: number
  /** clients that have signature and key and want the index, like zypper */
  keyAsked: number
  /** the last request, ms since 1970 */
  atMs: number
}

export interface Moment {
  nowMs: number
  /** the generation the link points at */
  live: string
  /** false when the client has waited long enough */
  mayWait: boolean
}

/** Either the generation of the answer, or how long to wait at most before asking again. */
export type NextReading = { readings: Readings; generation: string } | { waitMs: number }

/** The longest time between two requests of a pair: some 30 ms on loopback, seconds on a busy machine. */
export const LONGEST_PAUSE_MS = 15_000
/** How long the next client with the same key waits for a client that has half of an older pair. */
export const LONGEST_WAIT_MS = 3_000
/** The same for a client that has both and may soon ask for the key: zypper does when it tests for changes only by a GET. */
export const PAIRED_WAIT_MS = 500

/** Whether a client has one half of the pair and not the other. */
export function isOpen({ indexFirst, signatureFirst, keyAsked }: Readings): boolean {
  return indexFirst + signatureFirst + keyAsked > 0
}

/**
 * The second half of a pair comes from the generation of the first. A client that starts after a flip waits until the
 * others with its key have their second half: if it were answered earlier, its next request would look like one of theirs.
 */
export function step(known: Readings | null, request: PairRequest, { nowMs, live, mayWait }: Moment): NextReading {
  const readings = known && nowMs - known.atMs <= LONGEST_PAUSE_MS ? known : begin(live, nowMs)
  const after = (change: Partial<Readings>, generation = readings.generation): NextReading => ({
    readings: { ...readings, ...change, atMs: nowMs },
    generation,
  })
  const { probes, indexFirst, paired, signatureFirst, keyAsked } = readings

  if (request === 'signature' && indexFirst > 0) return after({ indexFirst: indexFirst - 1, paired: paired + 1 })
  if (request === 'index' && keyAsked > 0) return after({ keyAsked: keyAsked - 1 })
  if (request === 'index' && probes > 0) return after({ probes: probes - 1 })
  if (request === 'key') {
    if (signatureFirst > 0) return after({ signatureFirst: signatureFirst - 1, keyAsked: keyAsked + 1 }, live)
    if (paired > 0) return after({ paired: paired - 1, keyAsked: keyAsked + 1 }, live)
    return { readings, generation: live }
  }

  const longest = isOpen(readings) ? LONGEST_WAIT_MS : paired > 0 ? PAIRED_WAIT_MS : 0
  const waitMs = readings.atMs + longest - nowMs
  if (readings.generation !== live && mayWait && waitMs > 0) return { waitMs }
  const started = readings.generation === live ? readings : begin(live, nowMs)
  const counter = STARTS[request]
  return { readings: { ...started, [counter]: started[counter] + 1, atMs: nowMs }, generation: live }
}

const STARTS = { probe: 'probes', index: 'indexFirst', signature: 'signatureFirst' } as const

function begin(generation: string, atMs: number): Readings {
  return { generation, probes: 0, indexFirst: 0, paired: 0, signatureFirst: 0, keyAsked: 0, atMs }
}
