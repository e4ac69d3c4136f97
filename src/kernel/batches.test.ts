import { expect, test } from 'vitest'
import { createBatches } from './batches.ts'

/** Work that continues only when the test releases it. */
function gated() {
  const batches: (readonly string[])[] = []
  const gates: (() => void)[] = []
  const work = async (items: readonly string[]): Promise<string[]> => {
    batches.push(items)
    await new Promise<void>((resolve) => gates.push(resolve))
    return items.map((item) => `${item} done`)
  }
  const release = async () => {
    while (gates.length === 0) await new Promise(setImmediate)
    gates.shift()!()
  }
  return { batches, work, release }
}

test('items of one turn share a batch, and items that arrive during it share the next', async () => {
  const { batches, work, release } = gated()
  const add = createBatches(work, 10)
  const first = [add('a'), add('b')]
  while (batches.length === 0) await new Promise(setImmediate)
  const second = [add('c'), add('d'), add('e')]
  await release()
  expect(await Promise.all(first)).toEqual(['a done', 'b done'])
  await release()
  expect(await Promise.all(second)).toEqual(['c done', 'd done', 'e done'])
  expect(batches).toEqual([
    ['a', 'b'],
    ['c', 'd', 'e'],
  ])
})

test('a batch never exceeds its limit, and every item is worked on', async () => {
  const sizes: number[] = []
  const add = createBatches((items: readonly number[]) => {
    sizes.push(items.length)
    return Promise.resolve(items)
  }, 3)
  expect(await Promise.all(Array.from({ length: 8 }, (_, i) => add(i)))).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  expect(sizes).toEqual([3, 3, 2])
})

test('an item fails alone, an error of the work fails the whole batch, and the next batch runs', async () => {
  let broken = true
  const add = createBatches((items: readonly string[]): Promise<(string | Error)[]> => {
    if (broken) return Promise.reject(new Error('all'))
    return Promise.resolve(items.map((item) => (item === 'bad' ? new Error(item) : item)))
  }, 10)
  const outcomes = await Promise.allSettled([add('a'), add('b')])
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected'])
  broken = false
  const mixed = await Promise.allSettled([add('a'), add('bad'), add('c')])
  expect(mixed.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})
