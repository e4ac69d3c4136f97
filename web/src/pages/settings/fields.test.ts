import { describe, expect, test } from 'vitest'
import { changesOf, choicesOf, controlOf } from './fields.ts'

describe('the control of a setting', () => {
  test.each([
    [{ type: 'boolean' }, 'switch'],
    [{ type: 'integer', minimum: 0 }, 'number'],
    [{ enum: ['hold', 'allow'] }, 'choice'],
    [{ anyOf: [{ enum: ['block'] }, { type: 'null' }] }, 'choice'],
    [{ type: 'string', format: 'password' }, 'secret'],
    [{ type: 'object', patternProperties: { '.': { type: 'integer' } } }, 'map'],
    [{ type: 'array', items: { type: 'object' } }, 'list'],
    [{ type: 'string' }, 'text'],
  ] as const)('%j is a %s', (schema, control) => {
    expect(controlOf(schema as never)).toBe(control)
  })

  test('a choice that may be unset has an empty word for it', () => {
    expect(choicesOf({ anyOf: [{ enum: ['block', 'allow'] }, { type: 'null' }] })).toEqual(['', 'block', 'allow'])
  })
})

describe('what is sent', () => {
  const before = { enabled: false, host: 'a', keep: { '*': 3, noble: 5 }, list: [1] }

  test.each([
    ['nothing when nothing changed', { ...before }, {}],
    ['only the changed key', { ...before, host: 'b' }, { host: 'b' }],
    ['an entry that was added', { ...before, keep: { '*': 3, noble: 5, jammy: 1 } }, { keep: { jammy: 1 } }],
    ['null for an entry that was removed', { ...before, keep: { '*': 3 } }, { keep: { noble: null } }],
    ['a list as a whole', { ...before, list: [1, 2] }, { list: [1, 2] }],
  ])('%s', (_, after, expected) => {
    expect(changesOf(before, after)).toEqual(expected)
  })
})
