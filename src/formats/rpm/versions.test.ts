import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ComparisonOperator } from '../../domain/package.ts'
import { versions } from './versions.ts'

describe('rpm versions', () => {
  it.each(['1', '1-1', '1.0~rc1^git1-1.el9', '0:1-1', '4294967295:1-1', '1_2+b-0', 'v1-1', '2-1', '~1-1'])(
    'takes %s',
    (version) => {
      expect(versions.isValid(version)).toBe(true)
    },
  )

  it.each([
    '',
    '-',
    '1-',
    '-1',
    ':1',
    '1:',
    '1:-1',
    'a:1-1',
    '4294967296:1',
    '1-2-3',
    '1 2',
    '1/2',
    '1\n',
    'é',
    '1%2',
    '1:2:3',
  ])('refuses %j', (version) => {
    expect(versions.isValid(version)).toBe(false)
  })

  it.each<[string, '<' | '=' | '>', string]>([
    ['1.0', '=', '1.0'],
    ['1.0', '=', '1_0'],
    ['1.0', '=', '1.0.'],
    ['1.01', '=', '1.1'],
    ['1.0', '<', '1.0.0'],
    ['1.9', '<', '1.10'],
    ['1.0a', '>', '1.0'],
    ['1.0a', '<', '1.0.1'],
    ['1.0a', '<', '1.0b'],
    ['1.0Z', '<', '1.0a'],
    ['1.0~rc1', '<', '1.0'],
    ['1.0~', '<', '1.0'],
    ['1.0~~', '<', '1.0~'],
    ['1.0^git', '>', '1.0'],
    ['1.0^git', '<', '1.0.1'],
    ['1.0^', '<', '1.0a'],
    ['1.0^~', '<', '1.0^'],
    ['99999999999999999999', '>', '99999999999999999998'],
    ['1:0', '>', '9'],
    ['0:1', '=', '1'],
    ['10:0', '>', '9:1'],
    ['1-2', '<', '1-10'],
    ['1', '<', '1-1'],
  ])('%s %s %s', (a, sign, b) => {
    const wanted = { '<': -1, '=': 0, '>': 1 }[sign]
    expect(Math.sign(versions.compare(a, b))).toBe(wanted)
    expect(Math.sign(versions.compare(b, a))).toBe(0 - wanted)
  })

  it('is a total order over any texts', () => {
    const piece = fc.constantFrom('0', '1', '01', '10', '.', '_', '~', '^', 'a', 'Z', ':', '-')
    const version = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        const order = (x: string, y: string) => Math.sign(versions.compare(x, y))
        expect(order(a, a)).toBe(0)
        expect(order(a, b)).toBe(0 - order(b, a))
        if (order(a, b) <= 0 && order(b, c) <= 0) expect(order(a, c)).toBeLessThanOrEqual(0)
      }),
      { numRuns: 5000 },
    )
  })

  it.each<[string | null, ComparisonOperator, string, boolean]>([
    [null, '>=', '99', true],
    ['1.2-3', '=', '1.2', true],
    ['1.2-3', '>', '1.2', false],
    ['1.2-3', '>=', '1.2', true],
    ['1.2', '=', '1.2-9', true],
    ['1.2-3', '=', '1.2-4', false],
    ['1.2-3', '<', '1.2-4', true],
    ['1.3-1', '>', '1.2', true],
    ['1:1.0-1', '>=', '2.0', true],
    ['1:1.0-1', '<', '2.0', false],
    ['0:1.0-1', '=', '1.0-1', true],
    ['1.0~rc1-1', '>=', '1.0', false],
  ])('an offer of %s meets "%s %s": %s', (offered, op, wanted, met) => {
    expect(versions.meets?.(offered, op, wanted)).toBe(met)
  })
})
