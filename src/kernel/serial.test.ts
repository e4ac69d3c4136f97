import { expect, test } from 'vitest'
import { allEnded, createBatches, createExpected, createShared, type Outcome } from './serial.ts'

/** Work that goes on only when it is told to. */
function gated<I>() {
  const batches: I[][] = []
  const gates: (() => void)[] = []
  const work = async (items: I[]): Promise<Outcome<string>[]> => {
    batches.push(items)
    await new Promise<void>((resolve) => gates.push(resolve))
    return items.map((item) => ({ value: `${item} done` }))
  }
  const release = async () => {
    while (gates.length === 0) await new Promise(setImmediate)
    gates.shift()!()
  }
  return { batches, work, release }
}

test('items of one turn, and those that come while a batch is under way, go together', async () => {
  const { batches, work, release } = gated<string>()
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

test('a batch is no larger than it may be, and nothing is left behind', async () => {
  const sizes: number[] = []
  const add = createBatches(async (items: number[]) => {
    sizes.push(items.length)
    return items.map((value) => ({ value }))
  }, 3)
  expect(await Promise.all(Array.from({ length: 8 }, (_, i) => add(i)))).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  expect(sizes).toEqual([3, 3, 2])
})

test('one item that fails fails alone; work that throws fails them all, and the next batch runs', async () => {
  let broken = true
  const add = createBatches(async (items: string[]): Promise<Outcome<string>[]> => {
    if (broken) throw new Error('all')
    return items.map((item) => (item === 'bad' ? { error: new Error(item) } : { value: item }))
  }, 10)
  const outcomes = await Promise.allSettled([add('a'), add('b')])
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected'])
  broken = false
  const mixed = await Promise.allSettled([add('a'), add('bad'), add('c')])
  expect(mixed.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('callers of one turn share a run; those that come after it began share the next', async () => {
  let runs = 0
  let release = () => {}
  const run = createShared(async () => {
    const number = ++runs
    await new Promise<void>((resolve) => (release = resolve))
    return number
  })
  const first = [run(), run()]
  while (runs === 0) await new Promise(setImmediate)
  const second = [run(), run()]
  release()
  expect(await Promise.all(first)).toEqual([1, 1])
  while (runs === 1) await new Promise(setImmediate)
  release()
  expect(await Promise.all(second)).toEqual([2, 2])
})

test('a run that fails does not stop the one after it', async () => {
  let runs = 0
  const run = createShared(async () => {
    if (++runs === 1) throw new Error('once')
    return runs
  })
  await expect(run()).rejects.toThrow('once')
  expect(await run()).toBe(2)
})

test('a wait for those on their way ends with the last of them, and does not begin where nobody is', async () => {
  const expected = createExpected()
  await expected.settled(60_000)
  const [first, second] = [expected.add(), expected.add()]
  let over = false
  const waiting = expected.settled(60_000).then(() => (over = true))
  first()
  // Told twice, counted once.
  first()
  await new Promise(setImmediate)
  expect(over).toBe(false)
  second()
  await waiting
})

test('a wait for somebody who does not come ends by itself', async () => {
  const expected = createExpected()
  expected.add()
  await expected.settled(5)
})

test('what fails among several is told when the others have ended', async () => {
  const steps: string[] = []
  let release!: () => void
  const slow = new Promise<void>((resolve) => (release = resolve)).then(() => steps.push('ended'))
  const both = allEnded([Promise.reject(new Error('early')), slow]).catch((error: Error) => steps.push(error.message))
  await new Promise(setImmediate)
  expect(steps).toEqual([])
  release()
  await both
  expect(steps).toEqual(['ended', 'early'])
  expect(await allEnded([Promise.resolve(1), Promise.resolve('two')])).toEqual([1, 'two'])
})
