// Whether people could sign in at the identity provider of the settings: what is wrong, in words, before anybody tries.
import * as openid from 'openid-client'
import { appPage } from '../../domain/app-page.ts'
import type { Settings } from '../../domain/settings.ts'
import { asError } from '../../kernel/errors.ts'
import type { GuardedFetch } from './guarded-fetch.ts'
import { loginAddress, redirectOf } from './oidc-login.ts'
import { endpointsOf, providerProblem, type Providers } from './providers.ts'

const OIDC_CHECKS = ['settings', 'discovery', 'keys', 'redirect_uri', 'client'] as const

export interface OidcCheck {
  name: (typeof OIDC_CHECKS)[number]
  ok: boolean
  detail: string
}

export interface OidcTest {
  status: 'ok' | 'error'
  message: string
  /** up to the first without which the next cannot be tried */
  checks: OidcCheck[]
}

/** Uses the saved settings, also while the sign-in is switched off. Failures are results and not errors. */
export function createOidcTest(deps: {
  settings: () => Settings
  providers: Pick<Providers, 'discover' | 'forLogin'>
  fetch: GuardedFetch
}): () => Promise<OidcTest> {
  const { providers, fetch } = deps

  async function* checks(settings: Settings): AsyncGenerator<OidcCheck> {
    const { discovery_url: url, client_id: client } = settings.oidc
    const unset = [url === '' && 'discovery_url', client === '' && 'client_id'].filter(Boolean)
    if (unset.length > 0) {
      yield failed('settings', `oidc.${unset.join(' and oidc.')} must be set`)
      return
    }
    yield redirectCheck(settings)
    const { issuer, jwks_uri } = endpointsOf(await providers.discover(url))
    yield passed('discovery', `${issuer} answers`)
    yield await keysCheck(jwks_uri)
    yield await clientCheck(settings)
  }

  /** A set without a key for signatures makes every login fail. */
  async function keysCheck(url: string): Promise<OidcCheck> {
    const answer = await fetch(url, { method: 'GET', headers: { accept: 'application/json' } })
    const { keys } = (await answer.json().catch(() => ({}))) as { keys?: unknown }
    if (!answer.ok || !Array.isArray(keys)) return failed('keys', `${url} answered ${answer.status} without a key set`)
    const signing = (keys as ({ kty?: unknown; use?: unknown } | null)[]).filter(
      (key) => key?.use !== 'enc' && ['RSA', 'EC', 'OKP'].includes(String(key?.kty)),
    )
    return signing.length === 0
      ? failed('keys', `${url} has no public key for signatures`)
      : passed('keys', `${signing.length} ${signing.length === 1 ? 'key' : 'keys'} for signatures`)
  }

  /** Providers refuse unknown clients and redirects with 400; other answers say nothing, because no person is there. */
  async function clientCheck(settings: Settings): Promise<OidcCheck> {
    const address = loginAddress(await providers.forLogin(settings.oidc), settings, {
      ...{ state: openid.randomState(), nonce: openid.randomNonce() },
      code_challenge: await openid.calculatePKCECodeChallenge(openid.randomPKCECodeVerifier()),
    })
    const { status } = await fetch(address, { method: 'GET', headers: { accept: 'text/html' } })
    return status === 400
      ? failed(
          'client',
          `the provider refuses the beginning of a login: does it know the client ${settings.oidc.client_id}, and is exactly ${redirectOf(settings)} registered there?`,
        )
      : passed(
          'client',
          'the provider does not refuse the beginning of a login; the client secret is tried by a login only',
        )
  }

  return async () => {
    const done: OidcCheck[] = []
    try {
      for await (const check of checks(deps.settings())) done.push(check)
    } catch (error) {
      const at = OIDC_CHECKS.find((name) => name !== 'settings' && !done.some((check) => check.name === name))
      done.push(failed(at ?? 'client', providerProblem(asError(error)).detail))
    }
    const faults = done.filter(({ ok }) => !ok).map(({ detail }) => detail)
    return faults.length === 0
      ? { status: 'ok', message: 'people can be sent there to sign in', checks: done }
      : { status: 'error', message: faults.join('; '), checks: done }
  }
}

const passed = (name: OidcCheck['name'], detail: string): OidcCheck => ({ name, ok: true, detail })
const failed = (name: OidcCheck['name'], detail: string): OidcCheck => ({ name, ok: false, detail })

/** The browser of a person, on any machine, is sent to this address. */
function redirectCheck(settings: Settings): OidcCheck {
  const address = redirectOf(settings)
  const { protocol, hostname } = new URL(address)
  const expected = appPage(settings.app_url, '/oidc-callback')
  if (address !== expected)
    return failed('redirect_uri', `oidc.redirect_uri is ${address}, but this console waits at ${expected} (app_url)`)
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  if (protocol !== 'https:' && !isLocal)
    return failed('redirect_uri', `${address} is not https, and providers refuse that; change app_url`)
  return passed(
    'redirect_uri',
    `register exactly ${address} at the provider${isLocal ? '; it works on this machine only, for others change app_url' : ''}`,
  )
}
