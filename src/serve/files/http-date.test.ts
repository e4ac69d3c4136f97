// HTTP dates: the three accepted forms and everything else.
import { expect, test } from 'vitest'
import { formatHttpDate, parseHttpDate } from './http-date.ts'

const NOW = Date.UTC(2026, 10, 21) / 1000
const seconds = (...parts: Parameters<typeof Date.UTC>) => Date.UTC(...parts) / 1000

test.each<[string, number | null]>([
  ['Sun, 06 Nov 1994 08:49:37 GMT', 784111777],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 784111777],
  ['Sun Nov  6 08:49:37 1994', 784111777],
  ['Wed Nov 16 08:49:37 1994', seconds(1994, 10, 16, 8, 49, 37)],
  ['Saturday, 21-Nov-26 00:00:00 GMT', NOW],
  ['Monday, 01-Jan-76 00:00:00 GMT', seconds(2076, 0, 1)],
  ['Monday, 01-Jan-77 00:00:00 GMT', seconds(1977, 0, 1)],
  ['Thu, 29 Feb 2024 00:00:00 GMT', seconds(2024, 1, 29)],
  ['Thu, 01 Jan 0004 00:00:00 GMT', -62040988800],
  ['Fri, 31 Dec 1999 23:59:60 GMT', seconds(2000, 0, 1)],
  ['Thu, 29 Feb 2023 00:00:00 GMT', null],
  ['Thu, 31 Apr 2023 00:00:00 GMT', null],
  ['Thu, 00 Apr 2023 00:00:00 GMT', null],
  ['Sun, 06 Nov 1994 24:49:37 GMT', null],
  ['Sun, 06 Nov 1994 08:60:37 GMT', null],
  ['Sun, 06 Nov 1994 08:49:37', null],
  ['Sun, 06 Nov 1994 08:49:37 UTC', null],
  ['Sun, 06 Nov 1994 08:49:37 +0000', null],
  ['Sun, 6 Nov 1994 08:49:37 GMT', null],
  ['sun, 06 nov 1994 08:49:37 gmt', null],
  ['1994-11-06T08:49:37Z', null],
  ['2026', null],
  ['0', null],
  ['', null],
])('%s', (text, expected) => {
  expect(parseHttpDate(text, NOW)).toBe(expected)
})

test('a formatted date parses to the same second', () => {
  for (const at of [0, 784111777, NOW, 4102444799]) expect(parseHttpDate(formatHttpDate(at), NOW)).toBe(at)
})
