// The edition in force and its features.
import { Problem } from '../domain/problem.ts'
import type { Env } from './variables.ts'

export interface License {
  edition: Env['edition']
  /** Whether the edition in force includes a feature of the enterprise edition. */
  includes(feature: string): boolean
  /** @throws Problem('feature_unavailable') in the community edition */
  requireFeature(feature: string): void
}

/**
 * Only enterprise features (SBOM, LDAP login) are checked here, so the community edition refuses every name, unknown ones
 * included.
 */
export function createLicense(edition: Env['edition']): License {
  const includes = () => edition === 'enterprise'
  return {
    edition,
    includes,
    requireFeature(feature) {
      if (includes()) return
      throw new Problem('feature_unavailable', 'this feature is part of the enterprise edition', { feature, edition })
    },
  }
}
