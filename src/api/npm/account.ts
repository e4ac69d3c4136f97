// npm login, logout, whoami and ping.
import { randomBytes } from 'node:crypto'
import type { Authenticate } from '../../accounts/authenticate.ts'
import type { Login } from '../../accounts/login.ts'
import type { Sessions } from '../../accounts/sessions.ts'
import type { Tokens } from '../../accounts/tokens.ts'
import { Problem } from '../../domain/problem.ts'
import { lesserRole } from '../../domain/roles.ts'
import { goneSignal } from '../http/gone.ts'
import { handle, type Route } from '../http/route.ts'
import { deleteUserToken, getPing, getWhoami, postWebLogin, putUser } from './npm.contract.ts'

export interface AccountDeps {
  login: Login
  sessions: Pick<Sessions, 'end'>
  tokens: Pick<Tokens, 'create' | 'revoke'>
  authenticate: Authenticate
}

/** npm keeps the token in a file of the person, so it ends some time. */
const TOKEN_DAYS = 90
const USER = 'org.couchdb.user:'

export function accountRoutes({ login, sessions, tokens, authenticate }: AccountDeps): Route[] {
  return [
    handle(getPing, async () => ({})),
    handle(getWhoami, async ({ caller }) => ({ username: caller.name })),
    handle(postWebLogin, () => Promise.reject(new Problem('not_found', 'npm login works with a password here'))),
    handle(putUser, async ({ params, body, origin, reply }) => {
      const { name: username, password } = body
      if (params.user !== USER + username) throw new Problem('not_found', 'there is no such user')
      const answer = await login({ username, password }, origin, goneSignal(reply))
      if (answer.mfa_required) throw needsToken()
      const caller = await authenticate(`Bearer ${answer.access_token}`)
      try {
        if (caller.mustEnrol) throw needsToken()
        const wanted = {
          name: `npm ${caller.name} ${randomBytes(4).toString('hex')}`,
          role: lesserRole(caller.role, 'uploader'),
          expires_days: TOKEN_DAYS,
          scopes: { actions: ['read', 'upload'] as const, formats: ['npm'] },
        }
        const { token, token_id: rev } = await tokens.create(caller, wanted, origin)
        return { ok: true as const, id: params.user, rev, token }
      } finally {
        await sessions.end(caller, origin)
      }
    }),
    handle(deleteUserToken, async ({ caller, origin, params, raw }) => {
      if (caller.kind !== 'token' || raw.headers.authorization?.endsWith(params.token) !== true)
        throw new Problem('not_found', 'only the token of the request itself ends here')
      await tokens.revoke(caller, caller.credentialId, origin)
      return { ok: true as const }
    }),
  ]
}

/** npm's question for a code expects an answer in the same request, which a login with a second step here does not have. */
const needsToken = () =>
  new Problem(
    'mfa_required',
    'this account has a second factor: make an API token in the console and put it into .npmrc',
  )
