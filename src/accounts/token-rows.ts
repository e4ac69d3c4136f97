// API tokens as lists show them, and the people behind them.
import type { Selectable } from 'kysely'
import type { Caller } from '../domain/caller.ts'
import { lesserRole, type Role } from '../domain/roles.ts'
import type { Scopes } from '../domain/scopes.ts'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import type { Db } from '../store/db.ts'
import type { ApiTokensTable } from '../store/tables.ts'

export interface ApiToken {
  id: string
  token_id: string
  name: string
  role: Role
  /** the lesser of its role and its owner's present one */
  acts_as: Role
  created_by: string
  creator_active: boolean
  created_at: string
  last_used: string | null
  expires_at: string | null
  scopes: Scopes | null
  active: boolean
  token_hint: string
  /** the trusted publisher of its job; null for tokens that people created */
  publisher: string | null
}

/** With their owners, the newest first. */
export const withCreators = (db: Db) =>
  db
    .selectFrom('api_tokens')
    .leftJoin('users', 'users.id', 'api_tokens.created_by_id')
    .selectAll('api_tokens')
    .select(['users.active as creator_active', 'users.role as creator_role'])
    .orderBy('api_tokens.created_at', 'desc')
    .orderBy('api_tokens.id')

type TokenRow = Selectable<ApiTokensTable> & { creator_active: boolean | null; creator_role: Role | null }

export const listed = (rows: readonly TokenRow[], now: Date) => ({
  tokens: rows.map((row) => tokenOf(row, now)),
  total: rows.length,
})

/** Tokens of CI jobs belong to no user. */
export function tokenOf(row: TokenRow, now: Date): ApiToken {
  return {
    id: row.id,
    token_id: row.id,
    name: row.name,
    role: row.role,
    acts_as: row.creator_role === null ? row.role : lesserRole(row.role, row.creator_role),
    created_by: row.created_by,
    creator_active: row.creator_active === true || row.publisher !== null,
    created_at: isoTime(row.created_at),
    last_used: isoTimeOrNull(row.last_used),
    expires_at: isoTimeOrNull(row.expires_at),
    scopes: row.scopes,
    active: row.revoked_at === null && (row.expires_at === null || row.expires_at > now),
    token_hint: row.token_hint,
    publisher: row.publisher,
  }
}

/** The names under which the person behind a caller acts: the own one, and those of all tokens that were ever made. */
export async function namesOfPerson(db: Db, { name, ownerId }: Pick<Caller, 'name' | 'ownerId'>): Promise<string[]> {
  const [user, tokens] = await Promise.all([
    db.selectFrom('users').select('username').where('id', '=', ownerId).executeTakeFirst(),
    db.selectFrom('api_tokens').select('name').distinct().where('created_by_id', '=', ownerId).execute(),
  ])
  return [...new Set([name, ...(user ? [user.username] : []), ...tokens.map((token) => `token:${token.name}`)])]
}
