import { expect, test } from 'vitest'
import { checkCount, checkLine, createFileCount, MOST_FILES, quote } from './bounds.ts'

test('a file count accepts the most files and refuses one more', () => {
  const count = createFileCount()
  for (let index = 0; index < MOST_FILES; index++) count.add('usr/share/doc/file')
  expect(() => {
    count.add('one')
  }).toThrow('the package has more than 125,000 files, which is the most accepted')
})

test.each([
  ['one long name', 1, 4096, 'the package has a file name of 4,096 characters; at most 4,095 are accepted'],
  ['many long names', 10_000, 4000, 'file names of more than 33,554,432 characters together'],
])('a file count refuses %s', (_, names, length, sentence) => {
  const count = createFileCount()
  expect(() => {
    for (let index = 0; index < names; index++) count.add('x'.repeat(length))
  }).toThrow(sentence)
})

test('a bound itself is accepted', () => {
  expect(() => {
    checkCount('provides', 5, 5)
    checkLine('a summary', 'x'.repeat(16_384))
    checkLine('a summary', null)
  }).not.toThrow()
})

test('quoted text is short and printable', () => {
  expect(quote(` a\u0007${'b'.repeat(200)}`)).toBe(JSON.stringify(`a\u0007${'b'.repeat(78)}`))
})
