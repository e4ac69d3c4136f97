import { expect, test } from 'vitest'
import { compareMaven } from '../../../domain/versions/maven.ts'
import { comparePep440 } from '../../../domain/versions/pep440.ts'
import { compareSemver } from '../../../domain/versions/semver.ts'
import { orderOf } from './orders.ts'

const never = () => {
  throw new Error('not asked')
}

test.each([
  ['npm', compareSemver],
  ['PyPI', comparePep440],
  ['Maven', compareMaven],
])('%s has its own order', (ecosystem, order) => {
  expect(orderOf(ecosystem, never)).toBe(order)
})

test('a distribution uses the order of its format', () => {
  const asked: string[] = []
  orderOf('Rocky Linux:9', (format, a, b) => (asked.push(`${format} ${a} ${b}`), 0))!('1', '2')
  expect(asked).toEqual(['rpm 1 2'])
  expect(orderOf('crates.io', never)).toBeNull()
})
