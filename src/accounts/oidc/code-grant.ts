// The second half of a login at an OpenID Connect provider: the code is exchanged for an ID token, which must be for this login.
import * as openid from 'openid-client'
import { isProblem, Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import { isStorableJson } from '../../domain/storable.ts'
import { lacksClaims, type Claims } from './claims.ts'
import { requestFailure } from './guarded-fetch.ts'
import { providerProblem, type Providers } from './providers.ts'

/** Clocks of the provider and of this machine may differ by this. */
const TOLERANCE_SECONDS = 30
/** Codes of openid-client for an ID token that is for others, not valid now, or not signed by the provider. */
const BAD_ID_TOKEN = new Set([
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_KEY_SELECTION_FAILED',
])

export interface CallbackInput {
  code: string
  state: string
  code_verifier: string
  redirect_uri?: string
  /** RFC 9207: the issuer, where the provider sends it */
  iss?: string
}

/**
 * Exchanges the code of a login for the claims of the person.
 * @param waiting the login as it began
 * @returns issuer and subject as one text, and the claims
 * @throws Problem `unauthorized`, `forbidden_target`, `upstream_error`
 */
export async function exchangeCode(
  providers: Providers,
  oidc: Settings['oidc'],
  given: CallbackInput,
  waiting: { nonce: string; redirect_uri: string },
): Promise<{ externalId: string; claims: Claims }> {
  const config = await providers.forLogin(oidc)
  const { issuer, userinfo_endpoint } = config.serverMetadata()
  const address = new URL(waiting.redirect_uri)
  address.searchParams.set('code', given.code)
  address.searchParams.set('state', given.state)
  // RFC 9207 tells several providers of one client apart. Here is only one, so a client may leave `iss` out.
  address.searchParams.set('iss', given.iss ?? issuer)
  try {
    const tokens = await openid.authorizationCodeGrant(config, address, {
      pkceCodeVerifier: given.code_verifier,
      expectedState: given.state,
      expectedNonce: waiting.nonce,
      idTokenExpected: true,
    })
    const claims = tokens.claims() as Claims & { iss: string; sub: string; iat: number; azp?: unknown }
    // OpenID Connect Core 3.1.3.7: openid-client checks `azp` only with several audiences, and never checks `iat`.
    if (claims.azp !== undefined && claims.azp !== oidc.client_id)
      throw failed('the ID token was issued to another client')
    // Uses the clock with which openid-client compares `exp`.
    if (claims.iat > Date.now() / 1000 + TOLERANCE_SECONDS) throw failed('the ID token was issued in the future')
    const more =
      userinfo_endpoint !== undefined && lacksClaims(claims, oidc)
        ? await openid.fetchUserInfo(config, tokens.access_token, claims.sub)
        : {}
    const all = { ...more, ...claims }
    if (!isStorableJson(all)) throw failed('a claim has NUL or an unpaired surrogate')
    return { externalId: `${claims.iss} ${claims.sub}`, claims: all }
  } catch (error) {
    throw isProblem(error) ? error : grantProblem(error)
  }
}

/** The Problem of a login that may not go on. @param why for the audit log; clients get one sentence */
export function failed(why: string): Problem {
  return new Problem(
    'unauthorized',
    'the login at the identity provider failed or has expired; begin again',
    {},
    { cause: why },
  )
}

/** A failure of the exchange of the code: the browser's parameters are wrong (401), or the provider does not work (502). */
function grantProblem(error: unknown): Problem {
  if (requestFailure(error)) return providerProblem(error)
  if (error instanceof openid.AuthorizationResponseError) return failed(`the provider answered ${error.error}`)
  // RFC 6749, section 5.2: the code is wrong, was used, or belongs to another client or redirect.
  if (error instanceof openid.ResponseBodyError && error.error === 'invalid_grant')
    return failed('the code was refused')
  const { code, message } = error as { code?: string; message?: string }
  if (BAD_ID_TOKEN.has(code ?? '')) return failed(`the ID token was refused: ${message}`)
  return providerProblem(error)
}
