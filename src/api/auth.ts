// The endpoints below `/auth`. Must not know how accounts work: each handler is one call.
import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import type { Login } from '../accounts/login.ts'
import type { OwnAccount } from '../accounts/own-account.ts'
import type { PasswordReset } from '../accounts/password-reset.ts'
import type { Sessions } from '../accounts/sessions.ts'
import { TOKEN_NAME_MAX, type Tokens } from '../accounts/tokens.ts'
import { LINE_PATTERN, USERNAME_PATTERN } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'
import { ROLE_DESCRIPTIONS, ROLES } from '../domain/roles.ts'
import {
  CreatedTokenSchema,
  DoneSchema,
  Email,
  FullName,
  LoginSchema,
  MeSchema,
  NewPassword,
  RolesSchema,
  TokenPath,
  TokenSchema,
  Typed,
  UserPath,
  UserSchema,
  WantedRole,
} from './auth-schemas.ts'
import { route, type Route } from './route.ts'
import { listOf, StatusAnswer } from './schemas.ts'

export interface AuthParts {
  login: Login
  sessions: Sessions
  ownAccount: OwnAccount
  passwordReset: PasswordReset
  users: Users
  tokens: Tokens
}

const tag = 'auth'

/** Aborts when the client goes away before its answer; a reply that was sent aborts it too, when nobody listens. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  return gone.signal
}

export function authRoutes(parts: AuthParts): Route[] {
  return [...credentialRoutes(parts), ...ownRoutes(parts), ...userRoutes(parts), ...tokenRoutes(parts)]
}

function credentialRoutes({ login, passwordReset }: AuthParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/auth/token',
      tag,
      summary: 'Log in with name and password, JSON or form encoded',
      access: 'public',
      limit: 'login',
      body: Type.Object({ username: Typed, password: Typed }),
      answer: LoginSchema,
      problems: ['unauthorized'],
      handle: ({ body, origin, reply }) => login(body, origin, goneSignal(reply)),
    }),
    route({
      method: 'POST',
      path: '/auth/forgot-password',
      tag,
      summary: 'Ask for a link to set a new password; the answer never tells whether the account exists',
      access: 'public',
      limit: 'credentials',
      body: Type.Object({ username: Type.Optional(Typed), email: Type.Optional(Typed) }),
      answer: DoneSchema,
      problems: [],
      handle: async ({ body }) => passwordReset.request(body),
    }),
    route({
      method: 'POST',
      path: '/auth/reset-password',
      tag,
      summary: 'Set a new password with a one-use token',
      access: 'public',
      limit: 'credentials',
      body: Type.Object({ token: Typed, new_password: NewPassword }),
      answer: DoneSchema,
      problems: ['reset_token_invalid', 'weak_password'],
      handle: ({ body, origin }) => passwordReset.complete(body, origin),
    }),
    route({
      method: 'GET',
      path: '/auth/roles',
      tag,
      summary: 'The roles and what each may do',
      access: 'public',
      answer: RolesSchema,
      problems: [],
      handle: async () => ({ roles: ROLE_DESCRIPTIONS, order: [...ROLES] }),
    }),
  ]
}

function ownRoutes({ sessions, ownAccount }: AuthParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/auth/me',
      tag,
      summary: 'Who the credential belongs to',
      access: 'reader+',
      answer: MeSchema,
      problems: [],
      handle: ({ caller }) => ownAccount.me(caller),
    }),
    route({
      method: 'POST',
      path: '/auth/change-password',
      tag,
      summary: 'Change the own password; ends the other sessions',
      access: 'reader+',
      flags: { sessionOnly: true },
      body: Type.Object({ current_password: Typed, new_password: NewPassword }),
      answer: DoneSchema,
      problems: ['wrong_password', 'weak_password', 'external_account'],
      handle: ({ caller, body, origin, reply }) => ownAccount.changePassword(caller, body, origin, goneSignal(reply)),
    }),
    route({
      method: 'POST',
      path: '/auth/logout',
      tag,
      summary: 'End this session',
      access: 'reader+',
      flags: { sessionOnly: true },
      answer: StatusAnswer,
      problems: [],
      handle: ({ caller, origin }) => sessions.end(caller, origin),
    }),
    route({
      method: 'POST',
      path: '/auth/refresh',
      tag,
      summary: 'Trade this session for a new one, until 12 hours after the login',
      access: 'reader+',
      flags: { sessionOnly: true },
      answer: LoginSchema,
      problems: [],
      handle: ({ caller }) => sessions.refresh(caller),
    }),
  ]
}

function userRoutes({ users }: AuthParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/auth/users',
      tag,
      summary: 'All users',
      access: 'admin',
      answer: listOf('users', UserSchema),
      problems: [],
      handle: () => users.list(),
    }),
    route({
      method: 'POST',
      path: '/auth/users',
      tag,
      summary: 'Create a user',
      access: 'admin',
      body: Type.Object({
        username: Type.String({ pattern: USERNAME_PATTERN }),
        password: NewPassword,
        role: WantedRole,
        full_name: Type.Optional(FullName),
        email: Type.Optional(Email),
      }),
      success: 201,
      answer: UserSchema,
      problems: ['invalid_role', 'weak_password', 'already_exists'],
      handle: ({ caller, body, origin }) => users.create(caller, body, origin),
    }),
    route({
      method: 'PATCH',
      path: '/auth/users/{username}',
      tag,
      summary: 'Change role, name, mail address or activity of a user',
      access: 'admin',
      params: UserPath,
      body: Type.Object({
        role: Type.Optional(WantedRole),
        full_name: Type.Optional(FullName),
        email: Type.Optional(Email),
        active: Type.Optional(Type.Boolean()),
      }),
      answer: UserSchema,
      problems: ['invalid_role', 'self_role_change', 'self_deactivate', 'last_admin', 'not_found'],
      handle: ({ caller, params, body, origin }) => users.update(caller, params.username, body, origin),
    }),
    route({
      method: 'DELETE',
      path: '/auth/users/{username}',
      tag,
      summary: 'Delete a user; revokes the API tokens they made',
      access: 'admin',
      params: UserPath,
      answer: Type.Object({ status: Type.String(), username: Type.String() }),
      problems: ['self_delete', 'last_admin', 'not_found'],
      handle: ({ caller, params, origin }) => users.remove(caller, params.username, origin),
    }),
    route({
      method: 'POST',
      path: '/auth/users/{username}/reset-password',
      tag,
      summary: 'Set the password of a user; ends their sessions',
      access: 'admin',
      params: UserPath,
      body: Type.Object({ new_password: NewPassword }),
      answer: DoneSchema,
      problems: ['weak_password', 'external_account', 'not_found'],
      handle: ({ caller, params, body, origin }) =>
        users.resetPassword(caller, params.username, body.new_password, origin),
    }),
  ]
}

function tokenRoutes({ tokens }: AuthParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/auth/api-tokens',
      tag,
      summary: 'All API tokens, those revoked or expired too',
      access: 'admin',
      answer: listOf('tokens', TokenSchema),
      problems: [],
      handle: () => tokens.list(),
    }),
    route({
      method: 'POST',
      path: '/auth/api-tokens',
      tag,
      summary: 'Make an API token; the only answer that holds it in plain',
      access: 'admin',
      body: Type.Object({
        name: Type.String({ minLength: 1, maxLength: TOKEN_NAME_MAX, pattern: LINE_PATTERN }),
        role: Type.Optional(WantedRole),
        expires_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650 })),
      }),
      success: 201,
      answer: CreatedTokenSchema,
      problems: ['invalid_role', 'already_exists'],
      handle: ({ caller, body, origin }) => tokens.create(caller, body, origin),
    }),
    route({
      method: 'DELETE',
      path: '/auth/api-tokens/{token_id}',
      tag,
      summary: 'Revoke an API token at once',
      access: 'admin',
      params: TokenPath,
      answer: Type.Object({ status: Type.String(), token_id: Type.String() }),
      problems: ['not_found'],
      handle: ({ caller, params, origin }) => tokens.revoke(caller, params.token_id, origin),
    }),
  ]
}
