import { expect, test } from 'vitest'
import { isTooMuch } from './remove-withdrawn.ts'

test.each([
  ['nothing', 0, 0, 5, false],
  ['all of a small mirror', 20, 20, 5, false],
  ['all of a larger one', 21, 21, 5, true],
  ['a twentieth', 1000, 50, 5, false],
  ['more than a twentieth', 1000, 51, 5, true],
  ['all, where a person allows it', 1000, 1000, 100, false],
])('%s is withdrawn: %i brought, %i gone, at most %i %%: too much is %s', (_, brought, gone, percent, tooMuch) => {
  expect(isTooMuch({ brought, gone }, percent)).toBe(tooMuch)
})
