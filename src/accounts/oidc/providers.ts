// The endpoints and keys of identity providers, fetched with a guard and cached.
import { createRemoteJWKSet, customFetch as keyFetch, type JWTVerifyGetKey } from 'jose'
import * as openid from 'openid-client'
import { Problem } from '../../domain/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../kernel/clock.ts'
import { sha256Hex } from '../../kernel/crypto.ts'
import { requestFailure, type GuardedFetch } from './guarded-fetch.ts'

/** Providers announce new endpoints long before old ones end. */
const KEPT_MS = 3_600_000
const MOST_KEPT = 200
const TIMEOUT_SECONDS = 10
/** Keys are fetched again at this age, and when a token names an unknown key, at most once per cooldown. */
const KEYS_COOLDOWN_MS = 30_000
const KEYS_AGE_MS = 600_000

export interface Providers {
  /** @throws Problem `upstream_error`, `forbidden_target` */
  discover(url: string): Promise<openid.ServerMetadata>
  /** The provider of the settings, as a configuration of openid-client. @throws Problem as `discover` does */
  forLogin(oidc: Settings['oidc']): Promise<openid.Configuration>
  /** The public keys of an issuer that the settings name. @throws Problem as `discover` does */
  keysOf(issuer: string): Promise<JWTVerifyGetKey>
}

/**
 * @param deps.allowHttp plain http is allowed, in development
 * @param deps.keysCooldownMs time after which keys are fetched again for an unknown key
 */
export function createProviders(deps: {
  clock: Clock
  fetch: GuardedFetch
  allowHttp: boolean
  keysCooldownMs?: number
}): Providers {
  const { clock, fetch, allowHttp, keysCooldownMs = KEYS_COOLDOWN_MS } = deps
  const kept = new Map<string, { until: number; value: Promise<unknown> }>()

  /** The cached value of a key; made again when it is old or making it failed. Parallel callers share one. */
  function keep<T>(key: string, make: () => Promise<T>): Promise<T> {
    const now = clock.now().getTime()
    const found = kept.get(key)
    if (found && found.until > now) return found.value as Promise<T>
    kept.delete(key)
    const value = make()
    kept.set(key, { until: now + KEPT_MS, value })
    for (const oldest of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(oldest)
    value.catch(() => {
      if (kept.get(key)?.value === value) kept.delete(key)
    })
    return value
  }

  async function configure(
    url: string,
    clientId: string,
    secret: string,
    more: ((config: openid.Configuration) => void)[] = [],
  ): Promise<openid.Configuration> {
    try {
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- not deprecated but marked so, to stand out
      const execute = [...more, ...(allowHttp ? [openid.allowInsecureRequests] : [])]
      const options = { [openid.customFetch]: fetch as openid.CustomFetch, timeout: TIMEOUT_SECONDS, execute }
      const authentication = secret === '' ? openid.None() : authenticate(secret)
      return await openid.discovery(issuerOf(url), clientId, undefined, authentication, options)
    } catch (error) {
      throw providerProblem(error)
    }
  }

  return {
    async discover(url) {
      return (await configure(url, 'none', '')).serverMetadata()
    },

    forLogin({ discovery_url: url, client_id: id, client_secret: secret }) {
      return keep(`login ${sha256Hex(JSON.stringify([url, id, secret]))}`, () =>
        // The ID token comes over TLS from the provider; its signature is verified nevertheless.
        configure(url, id, secret, [openid.enableNonRepudiationChecks]),
      )
    },

    keysOf(issuer) {
      return keep(`keys ${issuer}`, async () => {
        const { jwks_uri } = (await configure(issuer, 'none', '')).serverMetadata()
        if (typeof jwks_uri !== 'string' || !URL.canParse(jwks_uri))
          throw new Problem('upstream_error', `${issuer} names no keys`)
        return createRemoteJWKSet(new URL(jwks_uri), {
          [keyFetch]: fetch,
          cooldownDuration: keysCooldownMs,
          cacheMaxAge: KEYS_AGE_MS,
        })
      })
    },
  }
}

/** The settings may also give the address of the discovery document: without its path it is the issuer. */
function issuerOf(url: string): URL {
  return new URL(url.replace(/\/\.well-known\/openid-configuration\/?$/, ''))
}

/** OpenID Connect Discovery, section 3: a provider that lists no method accepts `client_secret_basic`. */
function authenticate(secret: string): openid.ClientAuth {
  const [basic, post] = [openid.ClientSecretBasic(secret), openid.ClientSecretPost(secret)]
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported
    const posts = methods?.includes('client_secret_post') === true && !methods.includes('client_secret_basic')
    ;(posts ? post : basic)(server, client, body, headers)
  }
}

/** The addresses that a login needs. @throws Problem `upstream_error` with the names of those that the provider lacks */
export function endpointsOf({ issuer, ...metadata }: openid.ServerMetadata) {
  const { authorization_endpoint = '', token_endpoint = '', jwks_uri = '' } = metadata
  const endpoints = { authorization_endpoint, token_endpoint, jwks_uri }
  const isAddress = (value: unknown) => typeof value === 'string' && URL.canParse(value)
  const missing = Object.entries(endpoints).flatMap(([name, value]) => (isAddress(value) ? [] : name))
  if (missing.length > 0) throw new Problem('upstream_error', `${issuer} names no ${missing.join(', no ')}`)
  return { issuer, ...endpoints }
}

/** A failure to read what a provider publishes. */
export function providerProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  const failure = requestFailure(error)
  if (failure?.reason === 'forbidden_target')
    return new Problem('forbidden_target', failure.message, {}, { cause: error })
  const answered = error instanceof openid.ResponseBodyError ? `it answered ${error.error}` : null
  const why = failure?.message ?? answered ?? (error instanceof Error ? error.message : 'it gave no usable answer')
  return new Problem('upstream_error', `the identity provider could not be used: ${why}`, {}, { cause: error })
}
