import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { isShort, roomOf } from './disks.ts'

const GIB = 1024 ** 3
test.each([
  ['full', 0, 100, true],
  ['a twentieth of a small one', 0.14, 3, true],
  ['more than a twentieth of a small one', 0.16, 3, false],
  ['5 GiB of a large one', 4.9, 10_000, true],
  ['more than that', 5.1, 10_000, false],
])('%s: short is %s', (_, freeGib, totalGib, short) => {
  expect(isShort({ freeBytes: freeGib * GIB, totalBytes: totalGib * GIB })).toBe(short)
})

test('a place that cannot be read hides no other', async () => {
  const rooms = await roomOf({ repos: tmpdir(), gone: '/no/such/place' })
  expect(Object.keys(rooms)).toEqual(['repos'])
  expect(rooms['repos']?.totalBytes).toBeGreaterThan(0)
})
