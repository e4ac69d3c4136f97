import { expect, test } from 'vitest'
import { isAboutSame } from './about-same.ts'

const files = (name: string, query: object) => ({ params: { name, version: '1' }, query })

test.each([
  ['the next page of a list', { query: { page: 1 } }, { query: { page: 2 } }, true],
  ['another filter of a list', { query: { distribution: 'noble' } }, { query: {} }, true],
  ['the next page of the files', files('a', { arch: 'amd64', page: 1 }), files('a', { arch: 'amd64', page: 2 }), true],
  ['the files of another package', files('a', { page: 1 }), files('b', { page: 1 }), false],
  ['the files of another architecture', files('a', { arch: 'amd64' }), files('a', { arch: 'arm64' }), false],
])('%s: the rows of before may stay: %s %s %s', (_, one, other, may) => {
  expect(isAboutSame(one, other)).toBe(may)
})
