// Keeps long loops from blocking the event loop.
import { nextTurn } from './next-turn.ts'

/** How long a loop may run before timers and sockets are served, in milliseconds. */
const SLICE_MS = 10

/** Yields when the loop has run for a slice of time; to be awaited in each round. */
export type Pace = () => Promise<void> | undefined

/** @returns a function to await in each round of a loop: it yields when the loop has run for a slice of time */
export function createPacer(): Pace {
  let began = performance.now()
  return () => {
    if (performance.now() - began < SLICE_MS) return undefined
    return nextTurn().then(() => {
      began = performance.now()
    })
  }
}
