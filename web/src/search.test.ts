import { describe, expect, test } from 'vitest'
import { flag, number, oneOf, pageSize, search, text } from './search.ts'

const read = search({ q: text, page: number(1), status: oneOf('published', 'rejected'), kev: flag, size: pageSize })

describe('the search of a page', () => {
  test.each([
    [
      'keeps what the page knows',
      { q: 'curl', page: 2, status: 'rejected', kev: true },
      { q: 'curl', page: 2, status: 'rejected', kev: true },
    ],
    ['reads numbers and flags that were typed as text', { page: '3', kev: 'true' }, { page: 3, kev: true }],
    ['reads a text that looks like a number', { q: 2024 }, { q: '2024' }],
    ['leaves out defaults and empty text', { q: ' ', page: 1, kev: false }, {}],
    ['knows two sizes besides the usual one', { size: '100' }, { size: 100 }],
    ['leaves out the usual size, and others', { size: 50 }, {}],
    ['drops a size that would be slow', { size: 10_000 }, {}],
    ['drops values that no page has', { page: -1, status: '<script>', other: 'x' }, {}],
    ['drops fractions and numbers beyond exact ones', { page: 1.5 }, {}],
    ['drops texts longer than any name', { q: 'x'.repeat(301) }, {}],
    ['drops objects and lists', { q: { a: 1 }, page: [2, 3] }, {}],
  ])('%s', (_, raw, expected) => {
    expect(read(raw)).toEqual(expected)
  })
})
