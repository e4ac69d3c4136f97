// The endpoints below `/auth`. Each handler is one call to `accounts`.
import type { Login } from '../../accounts/login.ts'
import type { OwnAccount } from '../../accounts/own-account.ts'
import type { PasswordReset } from '../../accounts/password-reset.ts'
import type { Sessions } from '../../accounts/sessions.ts'
import { type Tokens } from '../../accounts/tokens.ts'
import type { Users } from '../../accounts/users.ts'
import type { Distribution } from '../../domain/package.ts'
import { ROLE_DESCRIPTIONS, ROLES } from '../../domain/roles.ts'
import { unknownDistribution } from '../../formats/unknown-distribution.ts'
import { goneSignal } from '../http/gone.ts'
import { deviceRoutes, type DeviceDeps } from './device.ts'
import { mfaRoutes, type MfaDeps } from './mfa.ts'
import { oidcRoutes, type OidcDeps } from './oidc.ts'
import { type Route } from '../http/route.ts'
import {
  postAuthToken,
  postAuthForgotPassword,
  postAuthResetPassword,
  getAuthRoles,
  getAuthMe,
  postAuthChangePassword,
  postAuthLogout,
  postAuthRefresh,
  getAuthUsers,
  getAuthUsersUsername,
  postAuthUsers,
  patchAuthUsersUsername,
  deleteAuthUsersUsername,
  postAuthUsersUsernameResetPassword,
} from './auth.contract.ts'
import {
  deleteAuthApiTokensTokenId,
  getAuthApiTokens,
  getAuthApiTokensTokenId,
  postAuthApiTokens,
} from './tokens.contract.ts'
import { handle } from '../http/route.ts'

export interface AuthDeps extends MfaDeps, OidcDeps, DeviceDeps {
  login: Login
  sessions: Sessions
  ownAccount: OwnAccount
  passwordReset: PasswordReset
  users: Users
  tokens: Tokens
  /** what scopes of tokens may name */
  distributions: readonly Distribution[]
  isRepository(key: string): Promise<boolean>
}

export function authRoutes(deps: AuthDeps): Route[] {
  return [
    ...credentialRoutes(deps),
    ...ownRoutes(deps),
    ...mfaRoutes(deps),
    ...oidcRoutes(deps),
    ...deviceRoutes(deps),
    ...userRoutes(deps),
    ...tokenRoutes(deps),
  ]
}

function credentialRoutes({ login, passwordReset }: AuthDeps): Route[] {
  return [
    handle(postAuthToken, ({ body, origin, reply }) => login(body, origin, goneSignal(reply))),
    handle(postAuthForgotPassword, async ({ body }) => passwordReset.request(body)),
    handle(postAuthResetPassword, ({ body, origin }) => passwordReset.complete(body, origin)),
    handle(getAuthRoles, async () => ({ roles: ROLE_DESCRIPTIONS, order: [...ROLES] })),
  ]
}

function ownRoutes({ sessions, ownAccount }: AuthDeps): Route[] {
  return [
    handle(getAuthMe, ({ caller }) => ownAccount.me(caller)),
    handle(postAuthChangePassword, ({ caller, body, origin, reply }) =>
      ownAccount.changePassword(caller, body, origin, goneSignal(reply)),
    ),
    handle(postAuthLogout, ({ caller, origin }) => sessions.end(caller, origin)),
    handle(postAuthRefresh, ({ caller }) => sessions.refresh(caller)),
  ]
}

function userRoutes({ users }: AuthDeps): Route[] {
  return [
    handle(getAuthUsers, () => users.list()),
    handle(getAuthUsersUsername, ({ params }) => users.find(params.username)),
    handle(postAuthUsers, ({ caller, body, origin }) => users.create(caller, body, origin)),
    handle(patchAuthUsersUsername, ({ caller, params, body, origin }) =>
      users.update(caller, params.username, body, origin),
    ),
    handle(deleteAuthUsersUsername, ({ caller, params, origin }) => users.remove(caller, params.username, origin)),
    handle(postAuthUsersUsernameResetPassword, ({ caller, params, body, origin }) =>
      users.resetPassword(caller, params.username, body.new_password, origin),
    ),
  ]
}

function tokenRoutes({ tokens, distributions, isRepository }: AuthDeps): Route[] {
  return [
    handle(getAuthApiTokens, () => tokens.list()),
    handle(getAuthApiTokensTokenId, ({ params }) => tokens.find(params.token_id)),
    handle(postAuthApiTokens, async ({ caller, body, origin }) => {
      for (const place of body.scopes?.distributions ?? []) {
        const isKnown = distributions.some(({ codename }) => codename === place) || (await isRepository(place))
        if (!isKnown) throw unknownDistribution(place, distributions, 'unknown_distribution')
      }
      return tokens.create(caller, body, origin)
    }),
    handle(deleteAuthApiTokensTokenId, ({ caller, params, origin }) => tokens.revoke(caller, params.token_id, origin)),
  ]
}
