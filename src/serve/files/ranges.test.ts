// Byte ranges: every form of RFC 9110 section 14.1.2 for files of several sizes.
import { expect, test } from 'vitest'
import { within } from '../../../test/within.ts'
import { selectRange, type RangeAnswer } from './ranges.ts'

const whole: RangeAnswer = { kind: 'whole' }
const none: RangeAnswer = { kind: 'unsatisfiable' }
const part = (first: number, last: number): RangeAnswer => ({ kind: 'part', first, last })

test.each<[string, number, RangeAnswer]>([
  ['bytes=0-0', 10, part(0, 0)],
  ['bytes=0-9', 10, part(0, 9)],
  ['bytes=2-', 10, part(2, 9)],
  ['bytes=9-', 10, part(9, 9)],
  ['bytes=5-100', 10, part(5, 9)],
  ['bytes=0-99999999999999999999999999', 10, part(0, 9)],
  ['bytes=-3', 10, part(7, 9)],
  ['bytes=-10', 10, part(0, 9)],
  ['bytes=-11', 10, part(0, 9)],
  ['BYTES=1-2', 10, part(1, 2)],
  [' bytes= 1-2 ', 10, part(1, 2)],
  ['bytes=10-', 10, none],
  ['bytes=10-20', 10, none],
  ['bytes=99999999999999999999-', 10, none],
  ['bytes=-0', 10, none],
  ['bytes=0-', 0, none],
  ['bytes=0-0', 0, none],
  ['bytes=-5', 0, whole],
  ['bytes=5-2', 10, whole],
  ['bytes=-', 10, whole],
  ['bytes=', 10, whole],
  ['bytes=,', 10, whole],
  ['bytes', 10, whole],
  ['bytes=a-b', 10, whole],
  ['bytes=1-2x', 10, whole],
  ['bytes=1--2', 10, whole],
  ['bytes=+1-2', 10, whole],
  ['bytes=0x1-2', 10, whole],
  ['bytes=1 -2', 10, whole],
  ['lines=1-2', 10, whole],
  ['', 10, whole],
  ['bytes=0-1,4-5', 10, whole],
  ['bytes=0-1,50-60', 10, part(0, 1)],
  ['bytes=50-60, -2', 10, part(8, 9)],
  ['bytes=,0-1,,', 10, part(0, 1)],
  ['bytes=50-60,70-', 10, none],
  ['bytes=0-1,broken', 10, whole],
])('%s of %i bytes', (field, size, answer) => {
  expect(selectRange(field, size)).toEqual(answer)
})

test('a field of thousands of ranges quickly gets the whole file', async () => {
  expect(await within(5_000, () => selectRange(`bytes=${'0-,'.repeat(5000)}`, 1e9))).toEqual(whole)
})
