// Who is asking: a person's session or an API token.
import type { Role } from './roles.ts'

export interface Caller {
  kind: 'session' | 'token'
  /** the name that audit entries and records carry: the username, or `token:<name>` */
  name: string
  role: Role
  /** the person's id; null for a token */
  userId: number | null
  /** JWT id of the session, or id of the token */
  credentialId: string
  /** one bucket of rate limits: `user:<id>` or `token:<id>` */
  principal: string
}
