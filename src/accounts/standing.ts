// Whether credentials of an external account are still valid: not while the directory does not have the account, nor long after
// a directory or an identity provider last confirmed it.
import { HOUR_MS } from '../domain/durations.ts'
import { Problem } from '../domain/problem.ts'
import type { Settings } from '../domain/settings.ts'
import type { UserRow } from './user.ts'

export type DirectoryStanding = Pick<
  UserRow,
  'auth_source' | 'directory_checked_at' | 'directory_gone_at' | 'last_login' | 'created_at'
>

/** The columns that decide, for queries that read nothing else of an account. */
export const STANDING_COLUMNS = [
  'users.auth_source',
  'users.directory_checked_at',
  'users.directory_gone_at',
  'users.last_login',
  'users.created_at',
] as const

/** @throws Problem `unauthorized` with what the holder of a valid credential can do */
export function requireStanding(user: DirectoryStanding, settings: Pick<Settings, 'ldap' | 'oidc'>, now: Date): void {
  const ends = endOfStanding(user, settings)
  if (ends !== null && now.getTime() > ends) throw new Problem('unauthorized', whyEnded(user, settings))
}

function whyEnded(user: DirectoryStanding, { ldap, oidc }: Pick<Settings, 'ldap' | 'oidc'>): string {
  if (user.auth_source === 'oidc')
    return `the owner of this credential has not logged in at the identity provider for ${oidc.login_days} days`
  if (user.directory_gone_at !== null)
    return 'the directory does not have this account any more; it works again when it is back'
  return `the directory has not confirmed this account for more than ${ldap.grace_hours} hours; log in again when it answers`
}

/**
 * When credentials of this account end unless it is confirmed again, in ms since 1970.
 * @returns null for an account that needs no confirmation
 */
export function endOfStanding(user: DirectoryStanding, { ldap, oidc }: Pick<Settings, 'ldap' | 'oidc'>): number | null {
  const latest = (...times: (Date | null)[]) => Math.max(...times.map((at) => at?.getTime() ?? 0))
  if (user.auth_source === 'local') return null
  if (user.auth_source === 'oidc')
    return oidc.login_days > 0 ? latest(user.last_login, user.created_at) + oidc.login_days * 24 * HOUR_MS : null
  if (user.directory_gone_at !== null) return 0
  // Older builds store no time of a check; a login counts as one.
  return latest(user.directory_checked_at, user.last_login, user.created_at) + ldap.grace_hours * HOUR_MS
}
