import { describe, expect, test } from 'vitest'
import { cursorOf, progressOf, rangesLeft, type ResumePosition } from './progress.ts'

describe('what is left of a run', () => {
  test.each<[string, string | null, ResumePosition, ReturnType<typeof rangesLeft>]>([
    ['from the first name', null, { after: null, wrapped: false }, [{ after: null, upTo: null, wrapped: false }]],
    [
      'from the middle, goes round',
      'm',
      { after: 'm', wrapped: false },
      [
        { after: 'm', upTo: null, wrapped: false },
        { after: null, upTo: 'm', wrapped: true },
      ],
    ],
    [
      'from the middle, after a while',
      'm',
      { after: 'x', wrapped: false },
      [
        { after: 'x', upTo: null, wrapped: false },
        { after: null, upTo: 'm', wrapped: true },
      ],
    ],
    ['after it went round', 'm', { after: 'c', wrapped: true }, [{ after: 'c', upTo: 'm', wrapped: true }]],
    ['when it just went round', 'm', { after: null, wrapped: true }, [{ after: null, upTo: 'm', wrapped: true }]],
  ])('%s', (_, from, place, expected) => {
    expect(rangesLeft({ from, place })).toEqual(expected)
  })
})

test('a saved cursor continues with its own numbers', () => {
  const progress = progressOf(null)
  progress.counts.added = 2
  progress.counts.error = 1
  const saved = JSON.parse(JSON.stringify(cursorOf(progress))) as unknown
  expect(saved).toMatchObject({ done_count: 3, error_count: 1 })
  expect(progressOf(saved)).toMatchObject({ counts: { added: 2, error: 1 }, place: { after: null, wrapped: false } })
  expect(progressOf(null).counts.added).toBe(0)
})
