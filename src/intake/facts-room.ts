// Bounds the memory of packages that are read and have no record yet: the text of their file lists and facts.
import { factsCharacters } from '../domain/packed-facts.ts'
import type { Candidate } from '../gate/step.ts'
import { createSemaphore } from '../kernel/semaphore.ts'

/**
 * Total of all packages that were read and have no record yet. The largest accepted package (formats/bounds) takes all of it.
 * Each character costs about four bytes: in the list, its lines, the rendered entry, and the statement to the database.
 */
const MOST_CHARACTERS = 32 * 1024 ** 2
/** Packages with less need no room: 192 of them (accept-all) have 12 Mi characters. */
const SMALL_CHARACTERS = 64 * 1024

export interface FactsRoom {
  /**
   * Reads a package and returns it when there is room; the caller gives the room back with `leave`. The size of its list is known
   * only after reading: a package that must wait is dropped and read again in its turn, so that it takes no memory meanwhile.
   */
  read(read: () => Promise<Candidate>): Promise<{ candidate: Candidate; leave(): void }>
}

export function createFactsRoom(most = MOST_CHARACTERS, small = SMALL_CHARACTERS): FactsRoom {
  const inTurn = createSemaphore(most)
  const enter = (width: number) =>
    new Promise<() => void>((entered) => void inTurn(() => new Promise<void>((leave) => entered(leave)), width))
  return {
    async read(read) {
      let first: Candidate | null = await read()
      const width = factsCharacters(first.facts)
      if (width <= small) return { candidate: first, leave() {} }
      if (!inTurn.fits(width)) first = null
      const leave = await enter(width)
      try {
        return { candidate: first ?? (await read()), leave }
      } catch (error) {
        leave()
        throw error
      }
    },
  }
}

/** A candidate that has its record, without its long lists: nothing uses them any more. */
export function withoutLists(candidate: Candidate): Candidate {
  return { ...candidate, facts: { ...candidate.facts, files: [], requirements: [], provides: [], record: null } }
}
