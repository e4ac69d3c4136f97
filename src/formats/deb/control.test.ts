import { expect, test } from 'vitest'
import { parseControl } from './control.ts'

test('a control file of very many lines is refused before it is split', () => {
  const text = (lines: number) => `Package: a\nDescription: x${'\n x'.repeat(lines)}\n`
  expect(parseControl(text(10_000))).toHaveLength(2)
  expect(() => parseControl(text(20_000))).toThrow('more than 20000 lines')
})
