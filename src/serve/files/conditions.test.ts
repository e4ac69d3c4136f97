// Conditional requests: the precedence table of RFC 9110 section 13.2.2, and dates within the second of a change.
import { describe, expect, test } from 'vitest'
import { evaluate, lastModified, rangeIsCurrent, validatorsOf, type ConditionOutcome } from './conditions.ts'
import { formatHttpDate } from './http-date.ts'

const CHANGED = 1_700_000_000
const LATER = (CHANGED + 3600) * 1000
const file = validatorsOf('"one"', CHANGED * 1000 + 500, LATER)

const before = formatHttpDate(CHANGED - 1)
const exact = formatHttpDate(CHANGED)
const after = formatHttpDate(CHANGED + 1)

describe('preconditions', () => {
  test.each<[Record<string, string>, ConditionOutcome]>([
    [{}, 'send'],
    [{ 'if-none-match': '"one"' }, 'not_modified'],
    [{ 'if-none-match': 'W/"one"' }, 'not_modified'],
    [{ 'if-none-match': '"zero", "one"' }, 'not_modified'],
    [{ 'if-none-match': '"a,b" , W/"one"' }, 'not_modified'],
    [{ 'if-none-match': '"zero,one"' }, 'send'],
    [{ 'if-none-match': '*' }, 'not_modified'],
    [{ 'if-none-match': '"two"' }, 'send'],
    [{ 'if-none-match': 'one' }, 'send'],
    [{ 'if-none-match': '' }, 'send'],
    [{ 'if-modified-since': before }, 'send'],
    [{ 'if-modified-since': exact }, 'not_modified'],
    [{ 'if-modified-since': after }, 'not_modified'],
    [{ 'if-modified-since': 'yesterday' }, 'send'],
    [{ 'if-modified-since': '2099-01-01' }, 'send'],
    // an entity tag takes precedence over a date, in both directions
    [{ 'if-none-match': '"two"', 'if-modified-since': after }, 'send'],
    [{ 'if-none-match': '"one"', 'if-modified-since': before }, 'not_modified'],
    [{ 'if-match': '"one"' }, 'send'],
    [{ 'if-match': '"zero", "one"' }, 'send'],
    [{ 'if-match': '*' }, 'send'],
    [{ 'if-match': '"two"' }, 'precondition_failed'],
    // strong comparison: a weak tag never matches
    [{ 'if-match': 'W/"one"' }, 'precondition_failed'],
    [{ 'if-unmodified-since': before }, 'precondition_failed'],
    [{ 'if-unmodified-since': exact }, 'send'],
    [{ 'if-unmodified-since': 'never' }, 'send'],
    [{ 'if-match': '"one"', 'if-unmodified-since': before }, 'send'],
    [{ 'if-match': '"two"', 'if-unmodified-since': after }, 'precondition_failed'],
    [{ 'if-match': '"one"', 'if-none-match': '"one"' }, 'not_modified'],
    [{ 'if-match': '"two"', 'if-none-match': '"one"' }, 'precondition_failed'],
    [{ 'if-unmodified-since': exact, 'if-modified-since': exact }, 'not_modified'],
    [{ 'if-unmodified-since': before, 'if-modified-since': exact }, 'precondition_failed'],
  ])('%o', (headers, outcome) => {
    expect(evaluate(headers, file, LATER)).toBe(outcome)
  })
})

describe('If-Range', () => {
  test.each<[string | undefined, boolean]>([
    [undefined, true],
    ['"one"', true],
    ['"two"', false],
    ['W/"one"', false],
    [exact, true],
    [before, false],
    // a later date is no match: the comparison is exact
    [after, false],
    ['nonsense', false],
  ])('%s', (ifRange, current) => {
    const headers = ifRange === undefined ? {} : { 'if-range': ifRange }
    expect(rangeIsCurrent(headers, file, LATER)).toBe(current)
  })
})

describe('within the second of the change', () => {
  const observed = CHANGED * 1000 + 900
  const fresh = validatorsOf('"one"', CHANGED * 1000 + 500, observed)

  test('the date is one second earlier, so that another change in that second is noticed', () => {
    expect(lastModified(fresh, observed)).toBe(before)
    expect(evaluate({ 'if-modified-since': before }, fresh, observed)).toBe('send')
    const changedAgain = validatorsOf('"two"', CHANGED * 1000 + 950, LATER)
    expect(evaluate({ 'if-modified-since': lastModified(fresh, observed) }, changedAgain, LATER)).toBe('send')
  })

  test('a date of that second does not match yet', () => {
    expect(evaluate({ 'if-modified-since': exact }, fresh, observed)).toBe('send')
    expect(rangeIsCurrent({ 'if-range': exact }, fresh, observed)).toBe(false)
  })

  test('the date is exact once the second is over', () => {
    expect(lastModified(file, LATER)).toBe(exact)
  })

  test('a file time in the future never gives a date in the future', () => {
    const ahead = validatorsOf('"one"', (CHANGED + 60) * 1000, observed)
    expect(lastModified(ahead, observed)).toBe(before)
  })
})
