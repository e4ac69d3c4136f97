import { describe, expect, test } from 'vitest'
import type { RangeEvent } from '../../../domain/advisory.ts'
import { exposure } from './ranges.ts'

const order = (a: string, b: string) => Number(a) - Number(b)
const range = (...events: RangeEvent[]) => ({ type: 'ECOSYSTEM' as const, events })
const introduced = (v: string) => ({ introduced: v })
const fixed = (v: string) => ({ fixed: v })
const last = (v: string) => ({ last_affected: v })
const limit = (v: string) => ({ limit: v })

describe('a version', () => {
  test.each([
    ['below the fix', [range(introduced('0'), fixed('5'))], '4', ['5']],
    ['at the fix', [range(introduced('0'), fixed('5'))], '5', null],
    ['before the introduction', [range(introduced('3'), fixed('5'))], '2', null],
    ['at the introduction', [range(introduced('3'), fixed('5'))], '3', ['5']],
    ['in the second of two stretches', [range(introduced('1'), fixed('2'), introduced('4'), fixed('6'))], '5', ['6']],
    ['between two stretches', [range(introduced('1'), fixed('2'), introduced('4'), fixed('6'))], '3', null],
    ['with events out of order', [range(fixed('6'), introduced('4'), fixed('2'), introduced('0'))], '1', ['2']],
    ['in one of two ranges', [range(introduced('1'), fixed('2')), range(introduced('4'), fixed('6'))], '5', ['6']],
    [
      'in both of two ranges',
      [range(introduced('0'), fixed('7')), range(introduced('4'), fixed('6'))],
      '5',
      ['7', '6'],
    ],
    ['without a fix', [range(introduced('0'))], '99', []],
    ['at the last one affected', [range(introduced('0'), last('5'))], '5', []],
    ['after the last one affected', [range(introduced('0'), last('5'))], '6', null],
    ['below the limit', [range(introduced('0'), limit('5'))], '4', []],
    ['at the limit', [range(introduced('0'), limit('5'))], '5', null],
    ['below one of two limits', [range(introduced('0'), limit('5'), limit('8'))], '7', []],
    ['with a limit of infinity', [range(introduced('0'), limit('*'))], '7', []],
    ['in an empty range', [range(introduced('5'), fixed('5'))], '5', null],
    ['below zero, which lies after the beginning', [range(introduced('0'), fixed('5'))], '-1', ['5']],
  ])('%s', (_what, ranges, version, fixes) => {
    expect(exposure({ ranges, versions: [] }, version, order)?.fixes ?? null).toEqual(fixes)
  })
})

test('the fix state of a version', () => {
  const state = (events: RangeEvent[], versions: string[] = []) =>
    exposure({ ranges: events.length ? [range(...events)] : [], versions }, '4', order)?.fixState
  expect(state([introduced('0'), fixed('5')])).toBe('fixed')
  expect(state([introduced('0')])).toBe('not-fixed')
  expect(state([introduced('0'), last('5')])).toBe('unknown')
  expect(state([introduced('0'), limit('5')])).toBe('unknown')
  expect(state([], ['4'])).toBe('unknown')
  expect(state([], ['04'])).toBeUndefined()
})

test('SEMVER ranges use semantic versions in every ecosystem', () => {
  const semver = { ranges: [{ type: 'SEMVER' as const, events: [introduced('1.0.0'), fixed('1.10.0')] }], versions: [] }
  expect(exposure(semver, '1.9.0', order)?.fixes).toEqual(['1.10.0'])
  expect(exposure(semver, '1.10.0-rc.1', order)?.fixes).toEqual(['1.10.0'])
  expect(exposure(semver, '1.10.0', order)).toBeNull()
})
