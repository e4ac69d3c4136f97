import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { within } from '../../../test/within.ts'
import { Problem } from '../../domain/problem.ts'
import { invalid, validatorCompiler } from './validation.ts'

const compile = validatorCompiler()
const Body = Type.Object({
  name: Type.String(),
  ids: Type.Optional(Type.Union([Type.Array(Type.String(), { maxItems: 10_000 }), Type.Null()])),
  note: Type.Optional(Type.String()),
})
const validate = compile({ schema: Body, httpPart: 'body' })

function errorsOf(data: unknown): { field: string; message: string }[] {
  const result = validate(data)
  if (result === true) return []
  expect(result.error).toBeInstanceOf(Problem)
  return result.error.extra['errors'] as { field: string; message: string }[]
}

describe('validatorCompiler', () => {
  test('reports every faulty field of a small body', () => {
    expect(errorsOf({ name: 1, note: 2 }).map(({ field }) => field)).toEqual(['name', 'note'])
  })

  test('reports at most 20 faults', () => {
    expect(errorsOf({ name: 'n', ids: Array(500).fill(1) })).toHaveLength(20)
  })

  test.each([
    ['mistyped items', { name: 'n', ids: Array(450_000).fill(1) }],
    ['too many items', { name: 'n', ids: Array(450_000).fill('') }],
    ['items of other shapes', { name: 'n', ids: Array(300_000).fill({}) }],
    ['an array instead of an object', Array(450_000).fill(1)],
    ['a long text and wrong types', { name: 'n'.repeat(1_000_000), ids: [1, 2, 3], note: 4 }],
  ])('answers 1 MB of %s with a few bytes, in a short time', async (_, data) => {
    // The rule is 50 ms. Collecting all faults took 91 s.
    const errors = await within(5_000, () => errorsOf(data))
    expect(errors.length).toBeGreaterThan(0)
    expect(JSON.stringify(errors).length).toBeLessThan(4_000)
  })

  test('converts strings to numbers in a query, but not in a body', () => {
    const schema = Type.Object({ page: Type.Integer({ default: 1 }) })
    expect(compile({ schema, httpPart: 'querystring' })({ page: '7' })).toBe(true)
    expect(compile({ schema, httpPart: 'body' })({ page: '7' })).not.toBe(true)
  })
})

test('each fault is reported once, under its field', () => {
  const fault = (instancePath: string, keyword: string, params = {}) => ({
    instancePath,
    keyword,
    params,
    message: 'must be better',
  })
  const faults = [
    fault('', 'required', { missingProperty: 'name' }),
    fault('/deep/er', 'type'),
    fault('/deep/er', 'anyOf'),
    fault('/list/0', 'required', { missingProperty: 'id' }),
    fault('', 'type'),
  ]
  expect(invalid(faults, 'body').extra).toEqual({
    errors: [
      { field: 'name', message: 'is required' },
      { field: 'deep.er', message: 'must be better' },
      { field: 'list.0.id', message: 'is required' },
      { field: 'body', message: 'must be better' },
    ],
  })
})
