// Whether a state can continue from its revision, or has to start again.
import { expect, test } from 'vitest'
import { canContinue } from './index-state.ts'

test.each([
  ['the same revision', 5, { revision: 5, removals_floor: 0 }, true],
  ['an earlier revision', 3, { revision: 5, removals_floor: 0 }, true],
  ['removals up to its own revision were deleted', 3, { revision: 5, removals_floor: 3 }, true],
  ['removals after its revision were deleted', 2, { revision: 5, removals_floor: 3 }, false],
  ['the database was restored to an earlier revision', 6, { revision: 5, removals_floor: 0 }, false],
])('%s', (_, revision, now, expected) => {
  expect(canContinue(revision, now)).toBe(expected)
})
