import { expect, test } from 'vitest'
import { ownPath } from './next.ts'

test.each([
  ['/packages?q=a#b', '/packages?q=a#b'],
  ['/', '/'],
  ['', '/'],
  [null, '/'],
  [undefined, '/'],
  ['packages', '/'],
  ['//evil.test/', '/'],
  ['/\\evil.test/', '/'],
  ['https://evil.test/', '/'],
  ['javascript:alert(1)', '/'],
])('%s leads to %s', (next, path) => {
  expect(ownPath(next)).toBe(path)
})
