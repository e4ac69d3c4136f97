// Declarations of login by OpenID Connect, and of the exchange of ID tokens of CI jobs, below `/auth/oidc`.
import Type from 'typebox'
import { FirstStepSchema } from './schemas.ts'
import { PUBLISHER_ROLES } from '../../domain/publishers.ts'
import { ScopesSchema } from '../../domain/scopes-schema.ts'
import { declare } from '../http/route.ts'
import { Nullable, TimeSchema } from '../http/schemas.ts'

export const tag = 'auth'

/** One line of visible ASCII, like every value of these protocols. */
const Visible = (minLength: number, maxLength: number, description?: string) =>
  Type.String({ minLength, maxLength, pattern: '^[!-~]*$', ...(description ? { description } : {}) })
const State = Visible(16, 512, 'random text that the client keeps and compares when the browser comes back')

export const getAuthOidcPublicConfig = declare({
  method: 'GET',
  path: '/auth/oidc/public-config',
  tag,
  summary: 'Whether people can log in at an identity provider, and its name for the button',
  access: 'public',
  answer: Type.Object({ enabled: Type.Boolean(), provider_name: Type.Optional(Type.String()) }),
  problems: [],
})

export const postAuthOidcAuthorize = declare({
  method: 'POST',
  path: '/auth/oidc/authorize',
  tag,
  summary: 'Begin a login at the identity provider: where to send the browser',
  example: { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', state: 'af0ifjsldkj-9fhs8d' },
  access: 'public',
  limit: 'credentials',
  body: Type.Object({
    code_challenge: Type.String({
      minLength: 43,
      maxLength: 43,
      pattern: '^[A-Za-z0-9_-]*$',
      description: 'S256 of the code_verifier (RFC 7636)',
    }),
    state: State,
    redirect_uri: Type.Optional(Visible(1, 2048, 'that of the settings; another one is refused')),
  }),
  answer: Type.Object({ authorization_url: Type.String(), redirect_uri: Type.String() }),
  problems: ['oidc_disabled', 'upstream_error', 'forbidden_target'],
})

export const postAuthOidcCallback = declare({
  method: 'POST',
  path: '/auth/oidc/callback',
  tag,
  summary: 'End a login with what the identity provider sent the browser back with',
  example: {
    code: 'SplxlOBeZQQYbYS6WxSbIA',
    state: 'af0ifjsldkj-9fhs8d',
    code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  },
  access: 'public',
  limit: 'credentials',
  body: Type.Object({
    code: Visible(1, 4096),
    state: State,
    code_verifier: Type.String({ minLength: 43, maxLength: 128, pattern: '^[A-Za-z0-9._~-]*$' }),
    redirect_uri: Type.Optional(Visible(1, 2048)),
    iss: Type.Optional(Visible(1, 2048, 'the issuer, where the provider sends it (RFC 9207)')),
  }),
  answer: FirstStepSchema,
  problems: ['oidc_disabled', 'unauthorized', 'forbidden', 'account_conflict', 'upstream_error', 'forbidden_target'],
})

export const postAuthOidcTestDiscovery = declare({
  method: 'POST',
  path: '/auth/oidc/test-discovery',
  tag,
  summary: 'Read the discovery document of an identity provider',
  example: { discovery_url: 'https://id.example.com' },
  access: 'admin',
  limit: 'credentials',
  body: Type.Object({ discovery_url: Type.String({ minLength: 1, maxLength: 2048 }) }),
  answer: Type.Object(
    {
      ok: Type.Boolean(),
      issuer: Type.String(),
      auth_ep: Type.String(),
      token_ep: Type.String(),
      jwks_uri: Type.String(),
    },
    { title: 'OidcDiscovery' },
  ),
  problems: ['upstream_error', 'forbidden_target'],
})

export const postAuthOidcExchange = declare({
  method: 'POST',
  path: '/auth/oidc/exchange',
  tag,
  summary: 'Exchange the ID token of a CI job for a short-lived API token',
  example: { token: 'eyJhbGciOiJSUzI1NiJ9.e30.x' },
  access: 'public',
  limit: 'credentials',
  body: Type.Object({ token: Visible(1, 16_384, 'as the CI provider gave it to the job; it works once') }),
  success: 201,
  answer: Type.Object(
    {
      token: Type.String(),
      token_type: Type.String({ description: 'bearer' }),
      token_id: Type.String(),
      name: Type.String(),
      publisher: Type.String(),
      role: Type.Enum([...PUBLISHER_ROLES]),
      scopes: Nullable(ScopesSchema),
      expires_in: Type.Integer({ description: 'seconds' }),
      expires_at: TimeSchema,
    },
    { title: 'ExchangedToken' },
  ),
  problems: ['unauthorized', 'upstream_error', 'forbidden_target'],
})
