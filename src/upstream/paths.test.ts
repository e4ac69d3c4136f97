import { describe, expect, test } from 'vitest'
import { checkPath, urlBelow } from './paths.ts'

describe('a path of an index', () => {
  test.each([
    ['pool/main/h/hello/hello_2.10-3_amd64.deb', 'pool/main/h/hello/hello_2.10-3_amd64.deb'],
    ['pool/libstdc++6_12~rc1_amd64.deb', 'pool/libstdc++6_12~rc1_amd64.deb'],
    ['Packages/one^two 3.rpm', 'Packages/one%5Etwo%203.rpm'],
    ['Packages/one%2Btwo.rpm', 'Packages/one+two.rpm'],
    ['Packages/one%5Etwo.rpm', 'Packages/one%5Etwo.rpm'],
    ['a/100%.deb', 'a/100%25.deb'],
    ['a/b?c#d.deb', 'a/b%3Fc%23d.deb'],
    ['a/..b/c..deb', 'a/..b/c..deb'],
    ['a/b:c.deb', 'a/b%3Ac.deb'],
  ])('%s is asked for as %s', (path, expected) => {
    expect(urlBelow('http://host/base/', path, true)).toBe(`http://host/base/${expected}`)
    expect(urlBelow('http://host/base?token=1', path, true)).toBe(`http://host/base/${expected}?token=1`)
  })

  test.each([
    ['foo_1%3a1.0_all.deb', 'foo_1%253a1.0_all.deb'],
    ['a/100%.deb', 'a/100%25.deb'],
    ['pool/libstdc++6_12~rc1_amd64.deb', 'pool/libstdc++6_12~rc1_amd64.deb'],
    ['a/b:c.deb', 'a/b%3Ac.deb'],
  ])('%s, a name and no part of an address, is asked for as %s', (path, expected) => {
    expect(urlBelow('http://host/base/', path)).toBe(`http://host/base/${expected}`)
  })

  test.each([
    '',
    '/',
    '/etc/passwd',
    '.',
    '..',
    '../x',
    'a/../x',
    'a/./x',
    'a//x',
    'a/',
    '%2e%2e/x',
    '..%2Fx',
    '%2Fetc/passwd',
    'a\\..\\x',
    'a\nb',
    'a\u0000b',
    'a%00b',
    'a\u202eb',
    'http://other/x',
    'file:x',
    'C:/x',
    'x'.repeat(1025),
  ])('%j is refused', (path) => {
    expect(() => checkPath(path, 'the index')).toThrow(expect.objectContaining({ code: 'upstream_error' }))
    expect(() => urlBelow('http://host/', path)).toThrow()
  })
})
