// The user as clients see it, and the rules for its fields.
import type { Selectable } from 'kysely'
import { Problem, invalidField } from '../domain/problem.ts'
import { isRole, type Role } from '../domain/roles.ts'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import type { Caller } from '../domain/caller.ts'
import type { UsersTable } from '../store/tables.ts'

export type UserRow = Selectable<UsersTable>

/** docs/api-decisions.md, section 3: 3 to 64 of `[A-Za-z0-9._@-]`. */
export const USERNAME_PATTERN = '^[A-Za-z0-9._@-]{3,64}$'
/** Empty, or text with one @ and no character that could break out of a mail header. */
export const EMAIL_PATTERN = '^$|^[^\\s@\\u0000-\\u001f\\u007f<>,;"]+@[^\\s@\\u0000-\\u001f\\u007f<>,;"]+$'
/** One line of text without control characters. */
export const LINE_PATTERN = '^[^\\u0000-\\u001f\\u007f]*$'
export const FULL_NAME_MAX = 200
export const EMAIL_MAX = 254

const USERNAME = new RegExp(USERNAME_PATTERN)
const EMAIL = new RegExp(EMAIL_PATTERN)
const LINE = new RegExp(LINE_PATTERN)

export interface User {
  id: number
  username: string
  role: Role
  full_name: string
  email: string
  active: boolean
  auth_source: 'local' | 'ldap' | 'oidc'
  mfa_enabled: boolean
  /** since when the directory does not have the account */
  suspended_at: string | null
  created_at: string
  last_login: string | null
}

export function userOf(row: UserRow): User {
  return {
    id: row.id,
    username: row.username,
    role: row.role,
    full_name: row.full_name,
    email: row.email,
    active: row.active,
    auth_source: row.auth_source,
    mfa_enabled: row.mfa_enabled,
    suspended_at: isoTimeOrNull(row.directory_gone_at),
    created_at: isoTime(row.created_at),
    last_login: isoTimeOrNull(row.last_login),
  }
}

/** The unique key of a username. Text that is not a valid username gives the empty key, which no user has. */
export function usernameKey(text: string): string {
  return USERNAME.test(text) ? text.toLowerCase() : ''
}

/** @throws Problem `validation_error`, naming the field as `field` */
export function requireUsername(text: string, field = 'username'): string {
  if (!USERNAME.test(text)) throw invalidField(field, 'must be 3 to 64 letters, digits or any of . _ @ -')
  return text
}

/** @throws Problem `validation_error` */
export function requireEmail(text: string, field = 'email'): string {
  if (text.length > EMAIL_MAX || !EMAIL.test(text)) throw invalidField(field, 'must be a mail address')
  return text
}

/** @throws Problem `validation_error` */
export function requireFullName(text: string, field = 'full_name'): string {
  if (text.length > FULL_NAME_MAX || !LINE.test(text))
    throw invalidField(field, `must be one line of at most ${FULL_NAME_MAX} characters`)
  return text
}

/** @throws Problem `invalid_role` */
export function requireRole(role: string): Role {
  if (!isRole(role)) throw new Problem('invalid_role', 'there is no such role')
  return role
}

/** The person behind a session. @throws Problem `session_required` for an API token */
export function personOf(caller: Caller): { id: number; name: string; jti: string } {
  if (caller.kind !== 'session') {
    throw new Problem('session_required', 'this needs a person who has logged in, not an API token')
  }
  return { id: caller.ownerId, name: caller.name, jti: caller.credentialId }
}
