// The order of npm versions. Pure.
import semver from 'semver'
import { compareMaven } from './maven.ts'

/** SemVer 2.0.0, section 11. Short versions (`1.2`) are filled with zeros; anything else falls back to Maven's order. */
export function compareSemver(a: string, b: string): number {
  const left = readSemver(a)
  const right = readSemver(b)
  return left && right ? semver.compare(left, right) : compareMaven(a, b)
}

function readSemver(version: string) {
  const short = /^v?(\d+)(?:\.(\d+))?$/.exec(version)
  return semver.parse(short ? `${short[1]}.${short[2] ?? 0}.0` : version, { loose: true })
}
