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

test('groups run one after another and stop after a group with a failure', async () => {
  const { seen, work } = meter()
  expect(await inGroups([3, 4, 5], 2, work)).toEqual([3, 4, 5])
  await expect(inGroups([1, 2, 6, 7], 2, work)).rejects.toThrow('two')
  expect(seen).toEqual({ most: 2, order: [3, 4, 5, 1, 2] })
})
