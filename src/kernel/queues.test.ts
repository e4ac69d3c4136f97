// The small tools that order work: serial, semaphore and in-groups.
import { expect, test } from 'vitest'
import { inGroups } from './in-groups.ts'
import { createSemaphore } from './semaphore.ts'
import { createSerial } from './serial.ts'

/** Counts how many pieces of work run at the same time. */
function meter() {
  let running = 0
  const seen = { most: 0, order: [] as number[] }
  const work = async (id: number) => {
    seen.most = Math.max(seen.most, ++running)
    seen.order.push(id)
    await new Promise(setImmediate)
    running--
    if (id === 2) throw new Error('two')
    return id
  }
  return { seen, work }
}

test('a serial runs one piece at a time, in order, and continues after a failure', async () => {
  const { seen, work } = meter()
  const serial = createSerial()
  const ends = await Promise.allSettled([1, 2, 3].map((id) => serial(() => work(id))))
  expect(ends.map((end) => end.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(seen).toEqual({ most: 1, order: [1, 2, 3] })
})

test('a semaphore runs as many pieces as its limit, in order, and frees the slot of a failed piece', async () => {
  const { seen, work } = meter()
  const semaphore = createSemaphore(2)
  const ends = await Promise.allSettled([1, 2, 3, 4, 5].map((id) => semaphore(() => work(id))))
  expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(4)
  expect(seen).toEqual({ most: 2, order: [1, 2, 3, 4, 5] })
  expect(await semaphore(() => work(6))).toBe(6)
})

test('a semaphore lets wide pieces take several slots, and one that is too wide runs alone and is not passed by', async () => {
  const semaphore = createSemaphore(4)
  let used = 0
  const seen: number[] = []
  const ends = [1, 2, 2, 9, 1, 1].map((width) =>
    semaphore(async () => {
      seen.push((used += width))
      await new Promise(setImmediate)
      used -= width
    }, width),
  )
  await Promise.all(ends)
  // 1 and 2 together; 2 when 1 has ended; 9 when nothing else runs; then both others.
  expect(seen).toEqual([1, 3, 4, 9, 1, 2])
})

test('groups run one after another and stop after a group with a failure', async () => {
  const { seen, work } = meter()
  expect(await inGroups([3, 4, 5], 2, work)).toEqual([3, 4, 5])
  await expect(inGroups([1, 2, 6, 7], 2, work)).rejects.toThrow('two')
  expect(seen).toEqual({ most: 2, order: [3, 4, 5, 1, 2] })
})
