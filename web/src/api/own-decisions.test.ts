import { expect, test } from 'vitest'
import { createOwnDecisions } from './own-decisions.ts'

test.each<[string, (number | [decided: number])[], boolean[]]>([
  ['a package that came', [10, 11], [true, true]],
  ['one that was decided here', [10, [1], 9], [true, false]],
  ['one that somebody else decided', [10, 9], [true, true]],
  ['200 that were decided here, told in parts', [300, [200], 250, 100], [true, false, false]],
  ['one of each', [10, [1], 8, 7], [true, true, true]],
  ['one that was decided here and one that came later', [10, [1], 9, 10], [true, false, true]],
  ['a decision here that was outweighed does not hide a later one', [10, [1], 11, 10], [true, true, true]],
])('%s', (_, steps, news) => {
  const own = createOwnDecisions()
  const told: boolean[] = []
  for (const step of steps) {
    if (typeof step === 'number') told.push(own.isNews(step))
    else own.decided(step[0])
  }
  expect(told).toEqual(news)
})
