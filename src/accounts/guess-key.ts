// The key under which guesses of passwords and codes are counted.
import type { Origin } from '../domain/audit.ts'
import { limitKey } from '../kernel/client-address.ts'
import { usernameKey } from './user.ts'

/** Per account and client (docs/api-decisions.md, section 1), never per account alone, so that nobody can lock others out. */
export function guessKey(username: string, origin: Origin): string {
  return `${usernameKey(username)} ${limitKey(origin.ip ?? '')}`
}
