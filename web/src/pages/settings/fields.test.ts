import { describe, expect, test } from 'vitest'
import { changesOf, choicesOf, controlOf, rebase } from './fields.ts'

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

describe('when somebody else changed the settings meanwhile', () => {
  const before = { days: 90, hour: 3, token: '***', host: 'a' }
  const isSecret = (key: string) => key === 'token'

  test.each([
    ['what only they changed is taken over', { ...before }, { ...before, hour: 4 }, { ...before, hour: 4 }, []],
    [
      'what only I edited stays',
      { ...before, days: 130 },
      { ...before, hour: 4 },
      { ...before, days: 130, hour: 4 },
      [],
    ],
    [
      'what both changed stays as I edited it, and is named',
      { ...before, days: 130 },
      { ...before, days: 121 },
      { ...before, days: 130 },
      ['days'],
    ],
    [
      'the same change of both is none',
      { ...before, days: 121 },
      { ...before, days: 121 },
      { ...before, days: 121 },
      [],
    ],
    [
      'a secret that I set is named, because nobody sees theirs',
      { ...before, token: 'new' },
      { ...before },
      { ...before, token: 'new' },
      ['token'],
    ],
  ])('%s', (_, mine, theirs, values, conflicts) => {
    expect(rebase({ before, mine, theirs }, isSecret)).toEqual({ values, conflicts })
  })
})
