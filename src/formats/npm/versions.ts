// The versions of npm packages.
import semver from 'semver'
import { compareSemver } from '../../domain/versions/semver.ts'
import type { VersionScheme } from '../ecosystem.ts'

/** SemVer 2.0.0 without build metadata, which npm leaves out: two versions that differ in it only would be one. */
export const versions: VersionScheme = {
  isValid: (version) => canonicalVersion(version) === version,
  compare: compareSemver,
}

/** As npm publishes it: without `v`, blanks and build metadata; null for what is no version. */
export const canonicalVersion = (version: string): string | null => semver.clean(version)

export const isStable = (version: string): boolean => semver.prerelease(version) === null
