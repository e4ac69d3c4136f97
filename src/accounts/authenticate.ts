// Identifies the caller from the Authorization header, with one query per request.
import { sql } from 'kysely'
import type { Caller } from '../domain/caller.ts'
import { Problem } from '../domain/problem.ts'
import { publisherOf, type Publisher } from '../domain/publishers.ts'
import { lesserRole, type Role } from '../domain/roles.ts'
import type { Scopes } from '../domain/scopes.ts'
import type { Settings } from '../domain/settings.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import type { Sessions } from './sessions.ts'
import { mustEnrol } from './must-enrol.ts'
import { requireStanding, STANDING_COLUMNS, type DirectoryStanding } from './standing.ts'
import { API_TOKEN, tokenHash } from './tokens.ts'

/** Longer than any JWT this service issues. */
const LONGEST_CREDENTIAL = 4096
const LAST_USED_STEP_MS = 60_000

/**
 * Role and `active` are read at each request, not taken from the login.
 * @throws Problem `unauthorized` with the same sentence for every reason: missing, malformed, expired or revoked
 * credential, owner disabled or deleted. The sentence differs only if the directory or provider does not know the owner now.
 */
export type Authenticate = (authorizationHeader: string | undefined) => Promise<Caller>

/** @param deps.publishers from the settings: a job's token ends when its publisher is removed or gets other scopes */
export function createAuthenticate(deps: {
  db: Db
  clock: Clock
  sessions: Sessions
  settings: () => Pick<Settings, 'ldap' | 'oidc' | 'security'>
  publishers: () => readonly Pick<Publisher, 'name' | 'role' | 'scopes'>[]
}): Authenticate {
  const { db, clock, sessions } = deps

  async function bySession(jwt: string): Promise<Caller | null> {
    const session = await sessions.read(jwt)
    if (!session) return null
    const user = await db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['users.id', 'users.username', 'users.role', 'users.mfa_enabled', ...STANDING_COLUMNS])
      .where('sessions.jti', '=', session.jti)
      .where('sessions.expires_at', '>', clock.now())
      .where('users.active', '=', true)
      .where('users.username', '=', session.subject)
      .executeTakeFirst()
    if (!user) return null
    const settings = deps.settings()
    requireStanding(user, settings, clock.now())
    return {
      kind: 'session',
      name: user.username,
      role: user.role,
      ownerId: user.id,
      credentialId: session.jti,
      principal: `user:${user.id}`,
      ...(mustEnrol(user, settings) ? { mustEnrol: true } : {}),
    }
  }

  // `last_used` is updated in the same statement, at most once a minute, so most requests write nothing.
  async function byToken(text: string): Promise<Caller | null> {
    const now = clock.now()
    const { rows } = await sql<
      {
        id: string
        name: string
        role: Role
        publisher: string | null
        owner_id: number | null
        owner_role: Role | null
        scopes: Scopes | null
      } & DirectoryStanding
    >`
      with found as (
        select t.id, t.name, t.role, t.scopes, t.publisher, u.id as owner_id, u.role as owner_role,
          ${sql.join(STANDING_COLUMNS.map((column) => sql.ref(column.replace('users.', 'u.'))))}
        from api_tokens t left join users u on u.id = t.created_by_id and u.active
        where t.token_hash in (${tokenHash(text, null)}, ${tokenHash(text, {})}) and (u.id is not null or t.publisher is not null) and t.revoked_at is null and (t.expires_at is null or t.expires_at > ${now})
      ), used as (
        update api_tokens set last_used = ${now} from found
        where api_tokens.id = found.id
          and (api_tokens.last_used is null or api_tokens.last_used <= ${new Date(now.getTime() - LAST_USED_STEP_MS)})
      ) select * from found`.execute(db)
    const token = rows[0]
    if (!token) return null
    // A token of a CI job has no owner.
    if (token.owner_id !== null) requireStanding(token, deps.settings(), now)
    const upTo = token.publisher === null ? token.owner_role : publisherOf(deps.publishers(), token)?.role
    if (!upTo) return null
    return {
      kind: 'token',
      name: `token:${token.name}`,
      // A token never has more rights than its owner, or its publisher, has now.
      role: lesserRole(token.role, upTo),
      ownerRole: upTo,
      ownerId: token.owner_id ?? 0,
      credentialId: token.id,
      principal: `token:${token.id}`,
      scopes: token.scopes,
    }
  }

  return async (header) => {
    const credential = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? ''
    let caller: Caller | null = null
    if (API_TOKEN.test(credential)) caller = await byToken(credential)
    else if (credential !== '' && credential.length <= LONGEST_CREDENTIAL) caller = await bySession(credential)
    if (!caller) throw new Problem('unauthorized', 'a valid credential is needed')
    return caller
  }
}
