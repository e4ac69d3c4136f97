// Whether the settings require a second factor for an account that has none.
import type { MFA_RULES, Settings } from '../domain/settings.ts'
import type { Role } from '../domain/roles.ts'
import type { UserRow } from './user.ts'

const ROLES_OF: Record<(typeof MFA_RULES)[number], (role: Role) => boolean> = {
  nobody: () => false,
  admins: (role) => role === 'admin',
  maintainers: (role) => role === 'admin' || role === 'maintainer',
  everybody: () => true,
}

/** The provider of an OIDC account asks for its own second factor. */
export function mustEnrol(
  user: Pick<UserRow, 'role' | 'mfa_enabled' | 'auth_source'>,
  { security }: Pick<Settings, 'security'>,
): boolean {
  return !user.mfa_enabled && user.auth_source !== 'oidc' && ROLES_OF[security.require_mfa](user.role)
}
