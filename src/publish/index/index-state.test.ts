// Whether a state can continue from its revision, or has to start again.
import { expect, test } from 'vitest'
import { canContinue } from './index-state.ts'

test.each([
  ['the same revision', 5, { revision: 5, history_floor: 0 }, true],
  ['an earlier revision', 3, { revision: 5, history_floor: 0 }, true],
  ['history up to its own revision was deleted', 3, { revision: 5, history_floor: 3 }, true],
  ['history after its revision was deleted', 2, { revision: 5, history_floor: 3 }, false],
  ['the database was restored to an earlier revision', 6, { revision: 5, history_floor: 0 }, false],
])('%s', (_, revision, now, expected) => {
  expect(canContinue(revision, now)).toBe(expected)
})
