// Packages and versions as people write them.
import { expect, test } from 'vitest'
import { givenOf } from './command.ts'
import { packageIn, namedPackage, namedVersion } from './named-package.ts'

test.each([
  ['hello', 'hello', undefined],
  ['hello@2.10-3', 'hello', '2.10-3'],
  ['libstdc++6@1:14.2.0-8~deb13u1', 'libstdc++6', '1:14.2.0-8~deb13u1'],
  ['python3.11@3.11.2-6+deb12u5', 'python3.11', '3.11.2-6+deb12u5'],
  ['@odd', '@odd', undefined],
])('%s is %s in version %s', (text, name, version) => {
  expect(packageIn(text)).toEqual({ name, version })
})

test.each([
  [{ 'PKG@VERSION': 'hello@1' }, 'hello', '1'],
  [{ 'PKG@VERSION': 'hello', VERSION: '1' }, 'hello', '1'],
  [{ 'PKG@VERSION': 'hello@1', VERSION: '1' }, 'hello', '1'],
  [{ 'PKG[@VERSION]': 'hello', 'version-of': '1' }, 'hello', '1'],
])('%j names one version', (values, name, version) => {
  expect(namedVersion(givenOf(values))).toEqual({ name, version })
})

test.each([
  [{ 'PKG@VERSION': 'hello' }, 'the version is missing'],
  [{ 'PKG@VERSION': 'hello@' }, 'names no version'],
  [{ 'PKG@VERSION': 'hello@1', VERSION: '2' }, 'two versions'],
  [{}, 'PKG is missing'],
])('%j is wrong use: %s', (values, text) => {
  expect(() => namedVersion(givenOf(values))).toThrow(text)
})

test('a version is optional where one is not needed', () => {
  expect(namedPackage(givenOf({ 'PKG[@VERSION]': 'hello' }))).toEqual({ name: 'hello', version: undefined })
})
