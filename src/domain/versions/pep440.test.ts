// Versions of Python in their normal form.
import { expect, test } from 'vitest'
import { normalPep440 } from './pep440.ts'

test.each([
  ['1.0', '1.0'],
  ['v1.0.0', '1.0.0'],
  ['01.002', '1.2'],
  ['1!2.0', '1!2.0'],
  ['0!2.0', '2.0'],
  ['1.0-1', '1.0.post1'],
  ['1.0.post', '1.0.post0'],
  ['1.0-r4', '1.0.post4'],
  ['1.0.Beta2', '1.0b2'],
  ['1.0-alpha', '1.0a0'],
  ['1.0c1', '1.0rc1'],
  ['1.0rc1.dev3', '1.0rc1.dev3'],
  ['1.0preview-2.post3.DEV', '1.0rc2.post3.dev0'],
  ['1.0+Local-1.x', '1.0+local.1.x'],
  ['1.0+ABC.01', '1.0+abc.1'],
  ['20260101123456.1', '20260101123456.1'],
  ['1.9007199254740993', null],
  ['1.0 ', null],
  ['1.0\n', null],
  ['1.0-', null],
  ['1..0', null],
  ['', null],
  ['latest', null],
  ['1.0/../2', null],
  ['١.٠', null],
])('%j is %j', (text, normal) => {
  expect(normalPep440(text)).toBe(normal)
  if (normal !== null) expect(normalPep440(normal)).toBe(normal)
})
