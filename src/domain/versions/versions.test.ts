import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { compareMaven } from './maven.ts'
import { ignoringEpoch } from './order.ts'
import { comparePep440 } from './pep440.ts'
import { compareSemver } from './semver.ts'

describe('Maven', () => {
  // https://maven.apache.org/pom.html#Version_Order_Specification
  const ASCENDING = [
    ['1-alpha-1', '1-a2', '1-beta', '1-m1', '1-rc', '1-snapshot', '1', '1-sp', '1-foo', '1-1', '1.1'],
    ['1-SNAPSHOT', '1.0', '1.0.0.1', '1.1', '1.2', '1.10', '2-alpha', '2'],
    ['1.0.RC2', '1.0-RC3', '1.0.1'],
    ['2.9.9', '2.9.10', '2.9.10.1', '2.10.0', '2.10.0-android', '2.10.0.pr1'],
    ['4.1.0.Beta1', '4.1.0.CR1', '4.1.0.Final', '4.1.0.SP1', '4.1.1.Final'],
  ]
  test.each(ASCENDING)('%s < … in this order', (...versions) => {
    for (const [i, a] of versions.entries()) {
      for (const [j, b] of versions.entries()) expect(Math.sign(compareMaven(a, b)), `${a} ${b}`).toBe(Math.sign(i - j))
    }
  })
  test.each([
    ['1', '1.0'],
    ['1.0', '1.0.0'],
    ['1', '1-ga'],
    ['1-final', '1.RELEASE'],
    ['1-cr2', '1-rc2'],
    ['1.x', '1-x'],
    ['1-a1', '1-alpha-1'],
    ['01', '1'],
    ['1..0', '1'],
  ])('%s = %s', (a, b) => expect(compareMaven(a, b)).toBe(0))
  test('orders any text, however long', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), (a, b) => {
        expect(compareMaven(a, b) + compareMaven(b, a)).toBe(0)
      }),
    )
    expect(Number.isFinite(compareMaven('1-'.repeat(50_000), '1-'.repeat(60_000)))).toBe(true)
  })
})

test('npm versions are ordered by SemVer, and short ones are filled with zeros', () => {
  expect(compareSemver('1.2.3-rc.1', '1.2.3')).toBeLessThan(0)
  expect(compareSemver('1.10.0', '1.9.9')).toBeGreaterThan(0)
  expect(compareSemver('1.2', '1.2.0')).toBe(0)
  expect(compareSemver('v1.2.3', '1.2.3+build')).toBe(0)
  expect(compareSemver('nonsense', '1.0.0')).not.toBeNaN()
})

test('Python versions are ordered by PEP 440, and older spellings have a place too', () => {
  const ascending = ['1.0.dev1', '1.0a1', '1.0rc1', '1.0', '1.0.post1', '1.1', '1!0.5']
  for (let i = 1; i < ascending.length; i++) expect(comparePep440(ascending[i - 1]!, ascending[i]!)).toBeLessThan(0)
  expect(comparePep440('1.0', '1.0.0')).toBe(0)
  expect(comparePep440('2004d', '1.0')).not.toBeNaN()
})

test('an order can ignore epochs', () => {
  expect(ignoringEpoch((a, b) => (a === b ? 0 : 1))('4:5.26-1', '5.26-1')).toBe(0)
})
