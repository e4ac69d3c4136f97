// Collects single items into batches that are worked on together.
import { createKeyed } from './keyed.ts'
import { nextTurn } from './next-turn.ts'

/** The end of one item of a batch. */
export type BatchOutcome<T> = { value: T } | { error: unknown }

/**
 * Items that arrive while a batch is being worked on form the next one.
 * @param work returns one outcome for each item, in their order; an error it throws is the outcome of all of them
 * @param most items in one batch
 */
export function createBatches<I, O>(
  work: (items: I[]) => Promise<BatchOutcome<O>[]>,
  most: number,
): (item: I) => Promise<O> {
  const waiting: { item: I; resolve: (value: O) => void; reject: (error: unknown) => void }[] = []
  let running = false

  async function run(): Promise<void> {
    running = true
    await nextTurn()
    while (waiting.length > 0) {
      const batch = waiting.splice(0, most)
      const outcomes = await work(batch.map(({ item }) => item)).catch((error: unknown) => batch.map(() => ({ error })))
      for (const [i, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[i] ?? { error: new Error('a batch returned no outcome for one of its items') }
        if ('value' in outcome) resolve(outcome.value)
        else reject(outcome.error)
      }
    }
    running = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!running) void run()
    })
}

/** Batches of their own for each key: items of two keys never share one. */
export function createKeyedBatches<I, O>(
  work: (key: string, items: I[]) => Promise<BatchOutcome<O>[]>,
  most: number,
): (key: string, item: I) => Promise<O> {
  const batchesOf = createKeyed((key: string) => createBatches((items: I[]) => work(key, items), most))
  return (key, item) => batchesOf(key)(item)
}
