// The stored form of tokens. They are 256 random bits, so a digest without salt protects them.
import { sha256Hex } from './crypto.ts'

/** Every token of this service: `svc_` for the API, `svcm_` for machines, `svce_` for their enrolment. */
export const ANY_TOKEN = /^svc[a-z]?_[A-Za-z0-9_-]{43}$/

/**
 * A token with scopes has another form, which replicas of older builds without scopes do not find: they refuse the token
 * instead of accepting it without its scopes.
 */
export function tokenDigest(token: string, isScoped: boolean): string {
  return sha256Hex(isScoped ? `scoped ${token}` : token)
}
