// Reads name, mail address and role from the claims of a person. Pure.
import { ROLES, type Role } from '../../domain/roles.ts'
import type { Settings } from '../../domain/settings.ts'

export type Claims = Readonly<Record<string, unknown>>

/** The value of a claim: by its whole name, else along its dots. Only own keys count. */
export function claimOf(claims: Claims, name: string): unknown {
  if (name === '') return undefined
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Claims)[part]
  }
  return value
}

/** Text of a claim; empty when it is missing or not text. */
export function textOf(claims: Claims, name: string): string {
  const value = claimOf(claims, name)
  return typeof value === 'string' ? value : ''
}

/** Whether the provider decides about roles. */
export function mapsRoles({ claim_role, role_map }: Settings['oidc']): boolean {
  return claim_role !== '' && Object.keys(role_map).length > 0
}

/** The first role, from admin down, that a value of the claim leads to; else the default. A value is never split. */
export function roleOf(claims: Claims, oidc: Settings['oidc']): Role {
  const value = claimOf(claims, oidc.claim_role)
  const values = (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string')
  const mapped = new Set(
    values.filter((one) => Object.hasOwn(oidc.role_map, one)).map((one) => oidc.role_map[one] as Role),
  )
  return ROLES.find((role) => mapped.has(role)) ?? oidc.default_role
}

/** Most identity providers name the groups of a person in this claim. */
const GROUPS_CLAIM = 'groups'

/** Groups of the person: the texts of the claim for roles, and of `groups`. */
export function groupsOf(claims: Claims, { claim_role }: Settings['oidc']): string[] {
  const values = [claim_role, GROUPS_CLAIM].flatMap((name) => claimOf(claims, name))
  return [...new Set(values.filter((one) => typeof one === 'string'))]
}

/** Whether the ID token lacks claims that the settings name: providers may give them only at the userinfo endpoint. */
export function lacksClaims(claims: Claims, oidc: Settings['oidc']): boolean {
  const wanted = [oidc.claim_username, oidc.claim_email, oidc.claim_fullname, oidc.claim_role]
  return wanted.some((name) => name !== '' && claimOf(claims, name) === undefined)
}
