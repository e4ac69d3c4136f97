// The version order of each ecosystem. Pure; the orders of our own formats come in as a part.
import { compare as comparePep440, valid as isPep440 } from '@renovatebot/pep440'
import semver from 'semver'
import type { FormatId } from '../../domain/package.ts'
import { orderName } from './ecosystems.ts'
import { compareMaven } from './maven.ts'

/** Negative, zero, positive; total over any two strings. */
export type Order = (a: string, b: string) => number

/** The formats' own orders: `formats/` lies on this floor and cannot be imported. */
export type FormatOrder = (format: FormatId, a: string, b: string) => number

/** @returns null for an ecosystem whose order we do not know */
export function orderOf(ecosystem: string, compare: FormatOrder): Order | null {
  const name = orderName(ecosystem)
  if (name === null) return null
  if (name === 'npm') return compareSemver
  if (name === 'PyPI') return pep440
  if (name === 'Maven') return compareMaven
  return (a, b) => compare(name, a, b)
}

/** SemVer 2.0.0, section 11; short versions (`1.2`) are filled with zeros. What is no such version goes by Maven's order, which takes anything. */
export function compareSemver(a: string, b: string): number {
  const left = readSemver(a)
  const right = readSemver(b)
  return left && right ? semver.compare(left, right) : compareMaven(a, b)
}

function readSemver(version: string) {
  const short = /^v?(\d+)(?:\.(\d+))?$/.exec(version)
  return semver.parse(short ? `${short[1]}.${short[2] ?? 0}.0` : version, { loose: true })
}

/** PEP 440; versions from before it go by Maven's order. */
function pep440(a: string, b: string): number {
  const known = (version: string) => version.length <= 256 && isPep440(version) !== null
  return known(a) && known(b) ? comparePep440(a, b) : compareMaven(a, b)
}

/** Epochs of rpm versions left aside: names of source packages do not tell them. */
export function ignoringEpoch(order: Order): Order {
  const bare = (version: string) => version.replace(/^[0-9]+:/, '')
  return (a, b) => order(bare(a), bare(b))
}
