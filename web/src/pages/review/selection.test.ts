import { expect, test } from 'vitest'
import { allToggled, extended, NOTHING, toggled, type Selection } from './selection.ts'

const LIST = ['a', 'b', 'c', 'd', 'e']
const of = (anchor: string | null, ...ids: string[]): Selection => ({ ids: new Set(ids), anchor })

test.each([
  [of(null), 'c', ['c'], 'c'],
  [of('b', 'b'), 'd', ['b', 'c', 'd'], 'b'],
  [of('d', 'd'), 'b', ['d', 'b', 'c'], 'd'],
  // What was selected outside of the range stays; a second range begins at the same anchor.
  [of('b', 'b', 'e'), 'c', ['b', 'e', 'c'], 'b'],
  // The anchor is on another page.
  [of('z', 'z'), 'c', ['z', 'c'], 'c'],
])('from %j a range to %s selects %j', (before, to, ids, anchor) => {
  const after = extended(before, to, LIST)
  expect([[...after.ids], after.anchor]).toEqual([ids, anchor])
})

test('one by one: a second time deselects, and the next range begins there', () => {
  const once = toggled(NOTHING, 'b')
  expect([[...once.ids], once.anchor]).toEqual([['b'], 'b'])
  const twice = toggled(once, 'b')
  expect([[...twice.ids], twice.anchor]).toEqual([[], 'b'])
})

test('all of a page and none of it; what is selected on other pages stays', () => {
  const all = allToggled(of('z', 'z', 'b'), LIST)
  expect([...all.ids].sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'z'])
  expect([...allToggled(all, LIST).ids]).toEqual(['z'])
})
