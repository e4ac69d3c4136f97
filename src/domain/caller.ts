// Who calls the API: a person's session or an API token.
import type { Role } from './roles.ts'
import type { Scopes } from './scopes.ts'

export interface Caller {
  kind: 'session' | 'token'
  /** the name that audit entries and records carry: the username, or `token:<name>` */
  name: string
  role: Role
  /** of a token: the role of its owner or publisher now, which `role` never exceeds */
  ownerRole?: Role
  /** id of the person behind the credential: the one logged in, or the owner of the token; 0 for a token of a CI job */
  ownerId: number
  /** JWT id of the session, or id of the token */
  credentialId: string
  /** one bucket of rate limits: `user:<id>` or `token:<id>` */
  principal: string
  /** what an API token may not do although its role may; null or missing: no restriction */
  scopes?: Scopes | null
  /** the settings require a second factor, which this person has to set up before anything else */
  mustEnrol?: boolean
}
