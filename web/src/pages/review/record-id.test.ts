import { expect, test } from 'vitest'
import { idOf, parseId } from './record-id.ts'

const record = { name: 'libc6', version: '1:2.36-9+deb12u1', arch: 'amd64', distribution: 'bookworm' }

test('a record is named by the URL and found again', () => {
  expect(parseId(idOf(record))).toEqual(record)
})

test.each([undefined, '', 'libc6', 'libc6 1 amd64', 'libc6 1 amd64 bookworm more', 'libc6  amd64 bookworm'])(
  '%j names no record',
  (text) => {
    expect(parseId(text)).toBeNull()
  },
)
