import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { within } from '../../../test/within.ts'
import { isProblem } from '../../domain/problem.ts'
import { parseRichDependency } from './rich-dependencies.ts'

const told = (text: string): string[] =>
  parseRichDependency(text).map(({ strong, anyOf }) => {
    const names = anyOf.map(({ name, op, version }) => (op ? `${name}${op}${version}` : name)).join('|')
    return strong ? names : `weak ${names}`
  })

describe('boolean dependencies', () => {
  it.each<[string, string[]]>([
    ['(a)', ['a']],
    ['(a or b)', ['a|b']],
    ['(a or b >= 1.0 or c = 1:2-3)', ['a|b>=1.0|c=1:2-3']],
    ['(a and b)', ['a', 'b']],
    ['(foo >= 1 with foo < 2)', ['foo>=1', 'foo<2']],
    ['(a without b)', ['a']],
    ['(a if b)', ['weak a']],
    ['(a if b else c)', ['weak a', 'weak c']],
    ['(a unless b else c)', ['weak a', 'weak c']],
    ['((a and b) or c)', ['c|a', 'c|b']],
    ['((a and b) or (c and d))', ['a|c', 'a|d', 'b|c', 'b|d']],
    ['((a or b) and c)', ['a|b', 'c']],
    ['((a if b) and c)', ['weak a', 'c']],
    ['((a if b) or c)', ['weak a|c']],
    ['(font(:lang=en) or pkgconfig(gtk+-3.0) => 3)', ['font(:lang=en)|pkgconfig(gtk+-3.0)>=3']],
    ['( a  or\tb )', ['a|b']],
    ['(a == 1)', ['a=1']],
  ])('%s', (text, clauses) => {
    expect(told(text)).toEqual(clauses)
  })

  it.each([
    '(',
    '()',
    '(a',
    '(a or)',
    '(or b)x',
    '(a b)',
    '(a or b) c',
    '(a or b and c)',
    '(a if b if c)',
    '(a without b without c)',
    '(a else b)',
    '(a if b else c else d)',
    '(a >= )',
    '(a <> 1)',
    '(a, b)',
    'a or b',
    '((a)',
    '(a))',
  ])('refuses %s', (text) => {
    expect(() => told(text)).toThrow(/cannot be read/)
  })

  it('become a weak clause when they would expand too far', () => {
    const pairs = Array.from({ length: 40 }, (_, index) => `(a${index} and b${index})`).join(' or ')
    const [clause, ...others] = parseRichDependency(`(${pairs})`)
    expect(others).toEqual([])
    expect(clause).toMatchObject({ strong: false })
    expect(clause?.anyOf).toHaveLength(80)
  })

  it('are parsed or refused quickly for any input', async () => {
    const piece = fc.constantFrom(
      '(',
      ')',
      ' ',
      'a',
      'b',
      ' or ',
      ' and ',
      ' if ',
      ' else ',
      ' with ',
      ' >= 1',
      ',',
      '((a and b)',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 200 }), async (pieces) => {
        await within(10_000, () => {
          try {
            parseRichDependency(`(${pieces.join('')})`)
          } catch (error) {
            expect(isProblem(error, 'invalid_package')).toBe(true)
          }
        })
      }),
      { numRuns: 2000 },
    )
  })
})
