// Declarations of /auth/api-tokens and of /auth/me/tokens, the tokens of one's own.
import Type from 'typebox'
import { TOKEN_NAME_MAX } from '../../accounts/tokens.ts'
import { LINE_PATTERN } from '../../accounts/user.ts'
import { ScopesSchema } from '../../domain/scopes-schema.ts'
import { declare } from '../http/route.ts'
import { listOf } from '../http/schemas.ts'
import { CreatedTokenSchema, TokenPath, TokenSchema, WantedRole } from './schemas.ts'

const tag = 'auth'

const NewTokenSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: TOKEN_NAME_MAX, pattern: LINE_PATTERN }),
    role: Type.Optional(WantedRole),
    expires_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650 })),
    scopes: Type.Optional(ScopesSchema),
  },
  { title: 'NewApiToken' },
)
const RevokedSchema = Type.Object({ status: Type.String(), token_id: Type.String() })

export const getAuthApiTokens = declare({
  method: 'GET',
  path: '/auth/api-tokens',
  tag,
  summary: 'All API tokens, including revoked and expired ones; of tokens of CI jobs the live ones only',
  access: 'admin',
  answer: listOf('tokens', TokenSchema),
  problems: [],
})

export const getAuthApiTokensTokenId = declare({
  method: 'GET',
  path: '/auth/api-tokens/{token_id}',
  tag,
  summary: 'An API token, also one that is revoked or expired; its text is never shown again',
  access: 'admin',
  params: TokenPath,
  answer: TokenSchema,
  problems: ['not_found'],
})

export const postAuthApiTokens = declare({
  method: 'POST',
  path: '/auth/api-tokens',
  tag,
  summary: 'Create an API token; only this answer shows it',
  example: {
    name: 'ci-jammy',
    role: 'uploader',
    expires_days: 90,
    scopes: { actions: ['upload'], distributions: ['jammy'] },
  },
  access: 'admin',
  idempotencyKey: true,
  body: NewTokenSchema,
  success: 201,
  answer: CreatedTokenSchema,
  problems: ['invalid_role', 'already_exists', 'unknown_distribution'],
})

export const deleteAuthApiTokensTokenId = declare({
  method: 'DELETE',
  path: '/auth/api-tokens/{token_id}',
  tag,
  summary: 'Revoke an API token immediately',
  access: 'admin',
  params: TokenPath,
  answer: RevokedSchema,
  problems: ['not_found'],
})

export const getAuthMeTokens = declare({
  method: 'GET',
  path: '/auth/me/tokens',
  tag,
  summary: 'The API tokens that you made, the 200 newest, including revoked and expired ones',
  access: 'reader+',
  flags: { sessionOnly: true },
  answer: listOf('tokens', TokenSchema),
  problems: [],
})

export const postAuthMeTokens = declare({
  method: 'POST',
  path: '/auth/me/tokens',
  tag,
  summary: 'Create an API token of your own, with at most your role; only this answer shows it',
  example: { name: 'ci-of-ada', expires_days: 90, scopes: { actions: ['upload'], distributions: ['jammy'] } },
  access: 'uploader+',
  idempotencyKey: true,
  flags: { sessionOnly: true },
  body: NewTokenSchema,
  success: 201,
  answer: CreatedTokenSchema,
  problems: ['invalid_role', 'already_exists', 'unknown_distribution'],
})

export const deleteAuthMeTokensTokenId = declare({
  method: 'DELETE',
  path: '/auth/me/tokens/{token_id}',
  tag,
  summary: 'Revoke an API token of your own immediately',
  access: 'reader+',
  flags: { sessionOnly: true },
  params: TokenPath,
  answer: RevokedSchema,
  problems: ['not_found'],
})
