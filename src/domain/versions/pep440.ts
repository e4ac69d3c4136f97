// The order of Python versions. Pure.
import { compare, valid } from '@renovatebot/pep440'
import { compareMaven } from './maven.ts'

const LONGEST = 256

/** PEP 440; versions that predate it fall back to Maven's order. */
export function comparePep440(a: string, b: string): number {
  const isKnown = (version: string) => version.length <= LONGEST && valid(version) !== null
  return isKnown(a) && isKnown(b) ? compare(a, b) : compareMaven(a, b)
}
