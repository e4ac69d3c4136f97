import { expect, test } from 'vitest'
import { inOrder } from './catalog.ts'

const tables = (references: Record<string, string[]>) =>
  Object.entries(references).map(([name, list]) => ({ name, references: list }))

test.each([
  [{ a: ['b'], b: ['c'], c: [] }, ['c', 'b', 'a']],
  [{ a: [], b: [], c: ['a', 'b'] }, ['a', 'b', 'c']],
  [{ a: ['elsewhere'] }, ['a']],
  [{}, []],
])('the tables of %j are loaded in the order %j', (references, order) => {
  expect(inOrder(tables(references)).map(({ name }) => name)).toEqual(order)
})

test('foreign keys in a circle are reported', () => {
  expect(() => inOrder(tables({ a: ['b'], b: ['a'], c: [] }))).toThrow(/circle: a, b/)
})
