// The clients that are reading a signed index and its signature, by name. All processes of a listener share it.
import type { Clock } from '../kernel/clock.ts'
import { isOpen, step, type PairRequest, type Readings } from './pair-reading.ts'

export interface PairQuestion {
  /** identifies the repository and the client */
  name: string
  request: PairRequest
  /** the generation the link points at, relative to the repositories' directory */
  live: string
  /** false when the client has waited long enough */
  mayWait: boolean
}

/** Where to read; or `again`: the client has waited and must ask again, with the generation that is live then. */
export type PairAnswer = { generation: string } | { again: true }

/** Synchronous unless the client has to wait, or the answer comes from another process. */
export type PairTurns = (question: PairQuestion) => PairAnswer | Promise<PairAnswer>

const MOST_NAMES = 4_096

export function createPairTurns(clock: Clock): PairTurns {
  /** in order of use */
  const byName = new Map<string, Readings>()
  const waiting = new Map<string, Set<() => void>>()

  const release = (name: string): void => {
    for (const resume of waiting.get(name) ?? []) resume()
  }

  const keep = (name: string, readings: Readings): void => {
    byName.delete(name)
    byName.set(name, readings)
    if (byName.size <= MOST_NAMES) return
    const eldest = byName.keys().next().value as string
    byName.delete(eldest)
    release(eldest)
  }

  const wait = (name: string, waitMs: number): Promise<PairAnswer> =>
    new Promise((resolve) => {
      const others = waiting.get(name) ?? new Set()
      waiting.set(name, others)
      const resume = () => {
        clearTimeout(timer)
        others.delete(resume)
        if (others.size === 0) waiting.delete(name)
        resolve({ again: true })
      }
      const timer = setTimeout(resume, waitMs)
      others.add(resume)
    })

  return ({ name, request, live, mayWait }) => {
    const result = step(byName.get(name) ?? null, request, { nowMs: clock.now().getTime(), live, mayWait })
    if ('waitMs' in result) return wait(name, result.waitMs)
    keep(name, result.readings)
    // The others wait once more, for a moment, for clients that may be about to ask for the key.
    if (!isOpen(result.readings)) release(name)
    return { generation: result.generation }
  }
}
