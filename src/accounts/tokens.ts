// API tokens: created, listed, revoked. Only their hash is stored.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Caller } from '../domain/caller.ts'
import type { Origin } from '../domain/audit.ts'
import { DAY_MS } from '../domain/durations.ts'
import { invalidField, Problem } from '../domain/problem.ts'
import { publisherOfActor } from '../domain/publishers.ts'
import { lesserRole, type Role } from '../domain/roles.ts'
import { requireNarrower, type Scopes } from '../domain/scopes.ts'
import { isoTimeOrNull, type Clock } from '../kernel/clock.ts'
import { randomToken } from '../kernel/crypto.ts'
import { tokenDigest } from '../kernel/token-digest.ts'
import type { Db } from '../store/db.ts'
import { change, type ChangeDeps } from './change.ts'
import { listed, tokenOf, withCreators, type ApiToken } from './token-rows.ts'
import { LINE_PATTERN, requireRole } from './user.ts'

export const TOKEN_PREFIX = 'svc_'
/** The form of every token; other text is refused without a query. */
export const API_TOKEN = /^svc_[A-Za-z0-9_-]{43}$/

const NAME = new RegExp(LINE_PATTERN)
export const TOKEN_NAME_MAX = 100
/** Live tokens of a person who is no admin. */
const MOST_OWN = 50
/** Tokens in the list of one owner. */
const LISTED_OWN = 200

export interface WantedToken {
  name: string
  role?: string
  expires_days?: number
  scopes?: Scopes
}

export interface CreatedToken {
  token: string
  message: string
  prefix: string
  token_id: string
  name: string
  role: Role
  expires_at: string | null
  scopes: Scopes | null
}

/** The stored form of a token. */
export const tokenHash = (token: string, scopes: Scopes | null) => tokenDigest(token, scopes !== null)

export interface Tokens {
  /** All tokens, newest first, including revoked and expired ones, but only the live tokens of CI jobs. */
  list(): Promise<{ tokens: ApiToken[]; total: number }>
  /** The 200 newest of a person. */
  listOf(ownerId: number): Promise<{ tokens: ApiToken[]; total: number }>
  /** @throws Problem `not_found` */
  find(id: string): Promise<ApiToken>
  /**
   * Creates a token that belongs to the caller; one created with a token belongs to that token's owner, and ends no later.
   * @throws Problem `invalid_role`, `validation_error`, `already_exists` (a live token has the name), `forbidden` when the
   * new one would exceed the role or the scopes of the caller, or the caller has too many
   */
  create(caller: Caller, wanted: WantedToken, origin: Origin): Promise<CreatedToken>
  /**
   * Revokes it and the tokens that were created with it.
   * @param ownerId only a token of this person
   * @throws Problem `not_found`, also for a token that is revoked already
   */
  revoke(caller: Caller, id: string, origin: Origin, ownerId?: number): Promise<{ status: 'revoked'; token_id: string }>
}

export function createTokens(deps: ChangeDeps & { clock: Clock }): Tokens {
  const { db, clock } = deps

  return {
    async list() {
      const now = clock.now()
      const rows = await withCreators(db)
        .where((is) => is.or([is('api_tokens.publisher', 'is', null), is('api_tokens.expires_at', '>', now)]))
        .execute()
      return listed(rows, now)
    },

    async listOf(ownerId) {
      const rows = await withCreators(db).where('api_tokens.created_by_id', '=', ownerId).limit(LISTED_OWN).execute()
      return listed(rows, clock.now())
    },

    async find(id) {
      const row = await withCreators(db).where('api_tokens.id', '=', id).executeTakeFirst()
      if (!row) throw new Problem('not_found', 'there is no such API token')
      return tokenOf(row, clock.now())
    },

    async create(caller, wanted, origin) {
      const role = requireRole(wanted.role ?? 'uploader')
      if (lesserRole(role, caller.role) !== role)
        throw new Problem('forbidden', `a token of ${caller.role} cannot be ${role}`)
      const name = wanted.name.trim()
      if (name === '' || name.length > TOKEN_NAME_MAX || !NAME.test(name)) {
        throw invalidField('name', `must be one line of 1 to ${TOKEN_NAME_MAX} characters`)
      }
      if (publisherOfActor(`token:${name}`) !== null)
        throw invalidField('name', 'must not end like the name of a token of a CI job (#0123abcd)')
      const days = wanted.expires_days
      if (days !== undefined && !(Number.isInteger(days) && days >= 1 && days <= 3650)) {
        throw invalidField('expires_days', 'must be a whole number from 1 to 3650')
      }
      const scopes = wanted.scopes ?? null
      if (caller.scopes) requireNarrower(scopes, caller.scopes)
      const now = clock.now()
      let expiresAt = days === undefined ? null : new Date(now.getTime() + days * DAY_MS)
      const token = TOKEN_PREFIX + randomToken(32)
      const id = randomUUID()
      await change(deps, caller.name, origin, async (tx, note) => {
        await requireOwner(tx, caller.ownerId)
        // Expiry depends on the time, so no unique index can keep names unique; creation is rare enough for this lock.
        await sql`lock table api_tokens in share row exclusive mode`.execute(tx)
        const parent = caller.kind === 'token' ? await liveToken(tx, caller.credentialId, now) : null
        if (parent?.expires_at && (!expiresAt || parent.expires_at < expiresAt)) expiresAt = parent.expires_at
        const taken = await live(tx, now).where('name', '=', name).executeTakeFirst()
        if (taken) throw new Problem('already_exists', 'a live token has this name')
        if (caller.role !== 'admin') await requireRoom(tx, caller.ownerId, now)
        await tx
          .insertInto('api_tokens')
          .values({
            id,
            name,
            role,
            token_hash: tokenHash(token, scopes),
            token_hint: token.slice(-4),
            created_by: caller.name,
            created_by_id: caller.ownerId,
            created_at: now,
            last_used: null,
            expires_at: expiresAt,
            revoked_at: null,
            scopes: scopes && JSON.stringify(scopes),
            parent_id: parent?.id ?? null,
          })
          .execute()
        await note('TOKEN_CREATE', `token ${name} created as ${role}`, {
          token_id: id,
          name,
          role,
          expires_at: isoTimeOrNull(expiresAt),
          ...(scopes ? { scopes } : {}),
        })
      })
      return {
        token,
        message: 'keep this token now; it is not shown again',
        prefix: TOKEN_PREFIX,
        token_id: id,
        name,
        role,
        expires_at: isoTimeOrNull(expiresAt),
        scopes,
      }
    },

    async revoke(caller, id, origin, ownerId) {
      return change(deps, caller.name, origin, async (tx, note) => {
        // A token that is being created now is either visible after this, or not created.
        await sql`lock table api_tokens in share row exclusive mode`.execute(tx)
        const { rows } = await sql<{ id: string; name: string }>`
          with recursive ended as (
            select id from api_tokens where id = ${id} and revoked_at is null
              and (${ownerId ?? null}::bigint is null or created_by_id = ${ownerId ?? null})
            union select made.id from api_tokens made join ended on made.parent_id = ended.id
          ) update api_tokens set revoked_at = ${clock.now()} from ended
            where api_tokens.id = ended.id and api_tokens.revoked_at is null returning api_tokens.id, api_tokens.name`.execute(
          tx,
        )
        if (rows.length === 0) throw new Problem('not_found', 'there is no such live token')
        for (const revoked of rows)
          await note('TOKEN_REVOKE', `token ${revoked.name} revoked`, { token_id: revoked.id, name: revoked.name })
        return { status: 'revoked' as const, token_id: id }
      })
    },
  }
}

/** Before the table: a deletion locks both in this order. @throws Problem `unauthorized` when the person was deleted meanwhile */
async function requireOwner(tx: Db, id: number): Promise<void> {
  const owner = await tx.selectFrom('users').select('id').where('id', '=', id).forKeyShare().executeTakeFirst()
  if (!owner) throw ended()
}

/** @throws Problem `unauthorized` when it ended since the request was admitted */
async function liveToken(tx: Db, id: string, now: Date): Promise<{ id: string; expires_at: Date | null }> {
  const token = await live(tx, now).where('id', '=', id).executeTakeFirst()
  if (!token) throw ended()
  return token
}

const ended = () => new Problem('unauthorized', 'a valid credential is needed')

const live = (db: Db, now: Date) =>
  db
    .selectFrom('api_tokens')
    .select(['id', 'expires_at'])
    .where('revoked_at', 'is', null)
    .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', now)]))

/** @throws Problem `forbidden` */
async function requireRoom(tx: Db, ownerId: number, now: Date): Promise<void> {
  const own = await live(tx, now).where('created_by_id', '=', ownerId).limit(MOST_OWN).execute()
  if (own.length >= MOST_OWN)
    throw new Problem('forbidden', `you have ${MOST_OWN} live tokens, which is the limit: revoke one first`)
}
