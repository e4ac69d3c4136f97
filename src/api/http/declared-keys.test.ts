// Keys that a schema does not declare, as a table.
import Type from 'typebox'
import { expect, test } from 'vitest'
import { keepDeclared } from './declared-keys.ts'

const Inner = Type.Object({ names: Type.Array(Type.String()) })

test.each<[string, object, unknown, unknown]>([
  ['of an object', Type.Object({ a: Type.Integer() }), { a: 1, b: 2, toString: 3 }, { a: 1 }],
  ['of an object inside', Type.Object({ in: Inner }), { in: { names: ['x'], id: 5 } }, { in: { names: ['x'] } }],
  [
    'of an intersection, whose parts declare each other’s',
    Type.Intersect([Type.Object({ a: Type.Integer() }), Type.Partial(Type.Object({ b: Inner }))]),
    { a: 1, b: { names: [], x: 1 }, c: 3 },
    { a: 1, b: { names: [] } },
  ],
  ['where it may be null', Type.Object({ b: Type.Union([Inner, Type.Null()]) }), { b: null, c: 1 }, { b: null }],
  [
    'of items of several shapes',
    Type.Array(Type.Union([Type.String(), Inner])),
    ['x', { names: ['y'], z: 1 }],
    ['x', { names: ['y'] }],
  ],
])('%s are removed', (_, schema, data, kept) => {
  keepDeclared(schema)(data)
  expect(data).toEqual(kept)
})

test.each<[string, object, unknown]>([
  ['an open object', Type.Object({}, { additionalProperties: true }), { a: { b: 1 } }],
  ['a map', Type.Record(Type.String(), Type.Integer()), { a: 1 }],
  ['anything', Type.Object({ a: Type.Unknown() }), { a: { b: { c: 1 } } }],
  ['a text', Type.String(), 'x'],
])('%s is kept as it is', (_, schema, data) => {
  const before = structuredClone(data)
  keepDeclared(schema)(data)
  expect(data).toEqual(before)
})
