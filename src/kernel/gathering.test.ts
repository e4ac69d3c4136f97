import { expect, test } from 'vitest'
import { createGathering } from './gathering.ts'

const LONG_MS = 600_000

test('callers go on together, in the same turn, once enough of them wait', async () => {
  const gather = createGathering(3, LONG_MS)
  const gone: number[] = []
  const callers = [1, 2, 3, 4].map((n) => gather().then(() => gone.push(n)))
  await Promise.all(callers.slice(0, 3))
  expect(gone).toEqual([1, 2, 3])
  const others = [gather(), gather()]
  await Promise.all([callers[3], ...others])
  expect(gone).toEqual([1, 2, 3, 4])
})

test('those that are too few go on after the wait, and the next ones wait again', async () => {
  const gather = createGathering(10, 1)
  await Promise.all([gather(), gather()])
  await gather()
})
