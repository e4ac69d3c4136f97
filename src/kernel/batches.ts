// Collects single items into batches and processes one batch after another, with dataloader.
import DataLoader from 'dataloader'
import { createKeyed } from './keyed.ts'
import { nextTurn } from './next-turn.ts'

/**
 * Items that arrive while a batch is being processed form the next one.
 * @param work returns a value or an Error for each item, in their order; if it throws, all items get this error
 * @param most items in one batch
 */
export function createBatches<I, O>(
  work: (items: readonly I[]) => Promise<readonly (O | Error)[]>,
  most: number,
): (item: I) => Promise<O> {
  let last: Promise<unknown> = Promise.resolve()
  let working: Promise<readonly (O | Error)[]>
  const loader = new DataLoader<I, O>((items) => (working = work(items)), {
    cache: false,
    maxBatchSize: most,
    batchScheduleFn(begin) {
      const run = () => {
        begin()
        return working
      }
      last = last.then(nextTurn).then(run).catch(ignore)
    },
  })
  return (item) => loader.load(item)
}

/** Separate batches for each key: items with different keys never share one. */
export function createKeyedBatches<I, O>(
  work: (key: string, items: readonly I[]) => Promise<readonly (O | Error)[]>,
  most: number,
): (key: string, item: I) => Promise<O> {
  const batchesOf = createKeyed((key: string) => createBatches((items: readonly I[]) => work(key, items), most))
  return (key, item) => batchesOf(key)(item)
}

/** dataloader reports errors to the callers. */
function ignore(): void {}
