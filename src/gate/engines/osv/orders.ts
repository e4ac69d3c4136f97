// The version order of each OSV ecosystem. Pure; the orders of our own formats are passed in.
import type { FormatId } from '../../../domain/package.ts'
import { compareMaven } from '../../../domain/versions/maven.ts'
import type { Order } from '../../../domain/versions/order.ts'
import { comparePep440 } from '../../../domain/versions/pep440.ts'
import { compareSemver } from '../../../domain/versions/semver.ts'
import { orderName } from './ecosystems.ts'

/** The formats' own orders: `formats/` is on this floor and cannot be imported. */
export type FormatOrder = (format: FormatId, a: string, b: string) => number

/** @returns null for an ecosystem whose order is unknown */
export function orderOf(ecosystem: string, compare: FormatOrder): Order | null {
  const name = orderName(ecosystem)
  if (name === null) return null
  if (name === 'npm') return compareSemver
  if (name === 'PyPI') return comparePep440
  if (name === 'Maven') return compareMaven
  return (a, b) => compare(name, a, b)
}
