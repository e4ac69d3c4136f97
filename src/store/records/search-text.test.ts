import { expect, test } from 'vitest'
import { looksLikeAdvisory } from '../../domain/advisory-id.ts'
import { containing, prefixOf } from './search-text.ts'

test.each([
  ['CVE-2024-3094', true],
  [' cve-2024', true],
  ['ghsa-AAAA', true],
  ['RHSA-2024:1234', true],
  ['openssl', false],
  ['cvetool', false],
  ['go-md2man', false],
  ['GO-2024-1', true],
])('%s is the id of an advisory: %s', (text, is) => {
  expect(looksLikeAdvisory(text)).toBe(is)
})

test.each([
  ['cve-2024-30', 'CVE-2024-30%'],
  ['GHSA-AbCd', 'GHSA-abcd%'],
  ['CVE-2024_%', 'CVE-2024\\_\\%%'],
])('the prefix pattern of %s is %s', (text, pattern) => {
  expect(prefixOf(text)).toBe(pattern)
})

test('a text with the characters of patterns finds itself only', () => {
  expect(containing(' Lib_50%\\ ')).toBe('%lib\\_50\\%\\\\%')
})
