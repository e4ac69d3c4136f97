// The key that guesses of passwords and codes are counted by.
import type { Origin } from '../domain/audit.ts'
import { limitKey } from '../kernel/client-address.ts'
import { usernameKey } from './user.ts'

/** Per account and client (docs/api-decisions.md, section 1), never per account alone: nobody can lock another out. */
export function guessKey(username: string, origin: Origin): string {
  return `${usernameKey(username)} ${limitKey(origin.ip ?? '')}`
}
